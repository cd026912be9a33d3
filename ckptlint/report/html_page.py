"""The style and the script of the report."""

from __future__ import annotations

STYLE = """.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
h3{font-size:.95rem;margin:1.4rem 0 .4rem}
.tiles{display:flex;flex-wrap:wrap;gap:.75rem;margin:0 0 1rem}
.tile{flex:1 1 8rem;border:1px solid var(--line);border-radius:10px;padding:.7rem .9rem;
background:var(--raised);color:var(--faint)}
.tile b{display:block;font-size:1.6rem;line-height:1.2;color:var(--ink);
font-variant-numeric:tabular-nums}
.tile.error b{color:var(--bad)}.tile.warning b{color:var(--leaves)}
.told p{margin:.15rem 0}
table.rules{border-collapse:collapse;margin:1.25rem 0 0;width:100%;max-width:36rem}
.rules th{font-weight:600;color:var(--faint);font-size:.85rem}
.rules th,.rules td{text-align:left;padding:.35rem .75rem .35rem 0;
border-bottom:1px solid var(--line)}
.rules .number{text-align:right;padding-right:0;font-variant-numeric:tabular-nums}
.rules a{text-decoration:none}.rules a:hover{text-decoration:underline}
.filters:not([hidden]){display:flex;flex-wrap:wrap;gap:.6rem .9rem;align-items:end;
position:sticky;top:0;z-index:1;background:var(--paper);margin:1.5rem 0 0;padding:.75rem 0;
border-bottom:1px solid var(--line)}
.filters label{display:grid;gap:.2rem;font-size:.8rem;color:var(--faint)}
.filters .wide{flex:1 1 11rem}
.filters select,.filters input,.filters button{font:inherit;font-size:.9rem;color:var(--ink);
background:var(--raised);border:1px solid var(--line);border-radius:6px;padding:.3rem .5rem;
width:100%;height:2.1rem}
.filters button{width:auto;cursor:pointer}
.filters output{font-size:.9rem;padding-bottom:.35rem;min-width:8.5rem;
font-variant-numeric:tabular-nums}
.finding{border:1px solid var(--line);border-left:4px solid var(--bad);border-radius:8px;
margin:.75rem 0;background:var(--paper);content-visibility:auto;contain-intrinsic-size:auto 4.5rem;
scroll-margin-top:6rem}
.finding.warning{border-left-color:var(--leaves)}
.finding[hidden]{display:none}
summary{cursor:pointer;list-style:none;padding:.7rem .9rem}
summary::-webkit-details-marker{display:none}
summary:hover{background:var(--raised)}
.head{display:flex;gap:.6rem;align-items:baseline}
.head .code{flex:none}
.message{font-weight:600;overflow-wrap:anywhere}
.where{display:block;color:var(--faint);font-size:.88rem;margin-top:.2rem;overflow-wrap:anywhere}
.chip{border:1px solid var(--line);border-radius:99px;padding:.02rem .5rem;margin-left:.5rem;
font-size:.78rem;white-space:nowrap}
.body{padding:0 .9rem .9rem}
.body p.path{margin:.9rem 0 .3rem;color:var(--faint)}
.source,.diff{margin:0;padding:.6rem 0;border:1px solid var(--line);border-radius:8px;
background:var(--raised);overflow-x:auto;font:12.5px/1.65
ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",
"DejaVu Sans Mono",monospace;tab-size:4}
.source{list-style:none}
.source li{display:grid;grid-template-columns:3.6rem max-content;white-space:pre}
.source li::before{content:attr(value);color:var(--faint);text-align:right;padding-right:1.1rem;
user-select:none}
.source li.gap{color:var(--faint);padding-left:2rem;display:block}
.source code{font-size:inherit;grid-column:2}
.source .said{grid-column:2;padding-left:calc(var(--at)*1ch)}
.source .said.main{color:var(--bad)}.source .said.aside{color:var(--link)}
.warning .source .said.main{color:var(--leaves)}
mark{color:inherit;background:none;border-radius:2px;text-decoration:underline;
text-decoration-thickness:2px;text-underline-offset:3px}
mark.main{background:var(--alarm);text-decoration-color:var(--bad)}
.warning mark.main{background:var(--region);text-decoration-color:var(--leaves)}
mark.aside{background:var(--region);text-decoration-color:var(--link)}
.steps{margin:.2rem 0;padding-left:1.4rem}
.steps li{margin:.15rem 0}
.diff span{display:block;padding:0 .9rem;width:max-content;min-width:100%;white-space:pre}
.diff .added{background:color-mix(in srgb,var(--meet) 16%,transparent)}
.diff .removed{background:var(--alarm)}
.diff .hunk{color:var(--faint)}
.help{margin-top:.2rem}
@media print{.filters{display:none!important}.finding{content-visibility:visible;
break-inside:auto}.finding[hidden]{display:block}summary{break-after:avoid}
.source,.diff{overflow:visible}.source li,.diff span{white-space:pre-wrap}
.source li{grid-template-columns:3.6rem minmax(0,1fr)}}
@media (max-width:40rem){main{padding:1.25rem .8rem 3rem}.filters{position:static}
.source li{grid-template-columns:2.6rem max-content}}
"""

SCRIPT = """"use strict";
(() => {
  const form = document.querySelector("form.filters");
  if (!form) return;
  const findings = [...document.querySelectorAll("details.finding")];
  const names = [...form.elements].map(field => field.name).filter(Boolean);
  const apply = () => {
    let shown = 0;
    for (const finding of findings) {
      const fits = names.every(name => {
        const wanted = form.elements[name].value, has = finding.dataset[name];
        return !wanted || (name === "path" ? has.includes(wanted) : has === wanted);
      });
      finding.hidden = !fits;
      shown += fits;
    }
    form.querySelector("output").value = `${shown} of ${findings.length} shown`;
    document.querySelector(".nothing").hidden = shown > 0;
  };
  const read = () => {
    const hash = location.hash.slice(1);
    const target = /^f\\d+$/.test(hash) && document.getElementById(hash);
    if (target) {
      form.reset();
      apply();
      target.open = true;
      target.scrollIntoView();
      return;
    }
    const wanted = new URLSearchParams(hash);
    for (const name of names) form.elements[name].value = wanted.get(name) || "";
    apply();
  };
  const write = () => {
    const chosen = new URLSearchParams(new FormData(form));
    for (const name of names) if (!chosen.get(name)) chosen.delete(name);
    history.replaceState(null, "", "#" + chosen);
    apply();
  };
  form.hidden = false;
  form.addEventListener("input", write);
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(write));
  addEventListener("hashchange", read);
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = findings.filter(finding => !finding.open);
    for (const finding of closed) finding.open = true;
  });
  addEventListener("afterprint", () => { for (const finding of closed) finding.open = false; });
  read();
})();
"""
