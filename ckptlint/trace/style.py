"""The colours of pictures and pages, for light and dark, and for paper."""

from __future__ import annotations

_LIGHT = """--paper:#fff;--raised:#f7f8fa;--ink:#1b1f24;--faint:#5d6673;--line:#d8dde4;
--rail:#aab3bf;--region:#3b6fb512;--edge:#3b6fb555;--meet:#0f766e;--other:#4b6a93;--bad:#c0262d;
--alarm:#c0262d14;--onbad:#fff;--leaves:#a45a00;--test:#6d28d9;--link:#0b5cad"""
_DARK = """--paper:#14171c;--raised:#1c2027;--ink:#e6e9ee;--faint:#98a2b0;--line:#313843;
--rail:#56606e;--region:#8ab4f80f;--edge:#8ab4f84a;--meet:#34c3ae;--other:#8fb0dd;--bad:#ff6b6b;
--alarm:#ff6b6b1c;--onbad:#2a0708;--leaves:#f0a84b;--test:#b79cff;--link:#7cb7ff"""

THEMES = f""":root{{color-scheme:light dark;{_LIGHT}}}
@media (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
@media print{{:root{{color-scheme:light;{_LIGHT}}}}}
"""

SHAPES = """.trace{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,
"Liberation Sans",sans-serif;font-size:12px}
.trace text{fill:var(--ink);white-space:pre}
.trace .paper{fill:var(--paper)}
.trace .name{font-size:17px;font-weight:650}
.trace .code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",
"DejaVu Sans Mono",monospace;font-size:12px}
.trace .small{font-size:11.5px}
.trace .strong{font-weight:650}
.trace .middle{text-anchor:middle}
.trace .end{text-anchor:end}
.trace .halo{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
.trace text.faint{fill:var(--faint)}
.trace text.bad{fill:var(--bad)}
.trace text.onbad{fill:var(--onbad)}
.trace text.leaves{fill:var(--leaves)}
.trace .head{fill:var(--raised);stroke:var(--line)}
.trace .rail{stroke:var(--rail);stroke-width:2}
.trace .region{fill:var(--region);stroke:var(--edge);stroke-width:1}
.trace .region.loop{stroke-dasharray:none}
.trace .region.call{stroke-dasharray:3 3}
.trace .bar{stroke-width:5;stroke-linecap:round}
.trace .bar.meet{stroke:var(--meet)}
.trace .bar.other{stroke:var(--other)}
.trace .bar.bad{stroke:var(--bad);stroke-width:2.5;stroke-dasharray:2 7}
.trace .dot{stroke:var(--paper);stroke-width:2}
.trace .dot.meet{fill:var(--meet)}
.trace .dot.other{fill:var(--other)}
.trace .dot.bad{fill:var(--bad)}
.trace .hole{fill:var(--paper);stroke:var(--bad);stroke-width:2.5}
.trace .folded{fill:var(--paper);stroke:var(--meet);stroke-width:2.5}
.trace .test{stroke:var(--test);stroke-width:2;fill:var(--paper)}
.trace .test.yes{fill:var(--test)}
.trace .cap{stroke-width:3;stroke-linecap:round;stroke:var(--faint)}
.trace .cap.leaves{stroke:var(--leaves)}
.trace .alarm{fill:var(--alarm)}
.trace .tag{fill:var(--bad)}
"""

STYLE = THEMES + SHAPES

PAGE = """*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 system-ui,-apple-system,
"Segoe UI",Roboto,"Helvetica Neue",Arial,"Liberation Sans",sans-serif;-webkit-text-size-adjust:100%}
main{max-width:68rem;margin:0 auto;padding:2rem 1.25rem 4rem}
h1{font-size:1.6rem;line-height:1.25;letter-spacing:-.01em;margin:0 0 1.25rem}
h2{font-size:1.15rem;line-height:1.3;margin:2rem 0 .25rem}
p{margin:.25rem 0 .75rem}
a{color:var(--link)}
code,pre,.path{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",
"DejaVu Sans Mono",monospace;font-size:.86em}
.faint{color:var(--faint)}
figure{margin:1rem 0;overflow-x:auto;border:1px solid var(--line);border-radius:10px;
padding:.5rem .25rem;background:var(--paper)}
figure svg{display:block}
.notes{padding:0;list-style:none}
.notes li{margin:.6rem 0}
b.code{color:var(--onbad);background:var(--bad);border-radius:4px;padding:.1em .4em;font-size:.85em}
b.code.warning{background:var(--leaves)}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
@media print{main{max-width:none;padding:0}figure{overflow:visible;break-inside:avoid}
figure svg{max-width:100%;height:auto}}
"""
