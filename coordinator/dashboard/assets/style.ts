/** The look of all pages. Colours are declared once per scheme; a test computes their contrast. */
export const COLOURS = {
  light: {
    ground: '#ffffff',
    raised: '#f1f3f5',
    words: '#1b1f24',
    line: '#6b7280',
    soft: '#d9dde2',
    link: '#0b4fa8',
    good: '#116329',
    bad: '#a40e26',
    wait: '#6b4700',
    none: '#4b5563',
  },
  dark: {
    ground: '#12161b',
    raised: '#1f262e',
    words: '#e8ebef',
    line: '#8b95a1',
    soft: '#323b45',
    link: '#8ab8ff',
    good: '#7ee2a0',
    bad: '#ff9aa5',
    wait: '#f5c56b',
    none: '#b6bec8',
  },
} as const;

const declared = (colours: Readonly<Record<string, string>>): string =>
  Object.entries(colours)
    .map(([name, value]) => `--${name}: ${value};`)
    .join(' ');

export const STYLE = `:root { color-scheme: light dark; ${declared(COLOURS.light)} }
@media (prefers-color-scheme: dark) { :root { ${declared(COLOURS.dark)} } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 0 1.5rem 3rem; max-width: 84rem; background: var(--ground); color: var(--words);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
a { color: var(--link); text-underline-offset: .15em; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 1.5rem 0 .75rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p { margin: .5rem 0; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 2px; }
main:focus { outline: none; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 0; background: var(--ground); padding: .5rem; z-index: 3; }
header { display: flex; flex-wrap: wrap; gap: .25rem 2rem; align-items: center; justify-content: space-between;
  border-bottom: 1px solid var(--soft); padding: .5rem 0; }
header nav { display: flex; gap: 1.25rem; align-items: center; }
header .brand { font-weight: 700; letter-spacing: .02em; }
header nav a { display: inline-block; padding: .5rem 0; text-decoration: none; }
header nav a:hover { text-decoration: underline; }
header form p { margin: 0; color: var(--none); font-size: .875rem; }
a[aria-current] { font-weight: 600; color: var(--words); box-shadow: 0 2px 0 var(--link); }
form { display: flex; flex-wrap: wrap; gap: .5rem .75rem; align-items: center; margin: .75rem 0; }
form.tall { flex-direction: column; align-items: stretch; max-width: 30rem; }
form.fields { align-items: end; border: 1px solid var(--soft); border-radius: .5rem; padding: .75rem 1rem 1rem; }
form.fields h2 { flex-basis: 100%; margin: 0; }
form.fields p { margin: 0; display: flex; flex-direction: column; flex: 1 1 9rem; }
input, select, button { font: inherit; color: inherit; background: var(--raised); border: 1px solid var(--line);
  border-radius: .375rem; padding: .25rem .75rem; min-height: 2.5rem; max-width: 100%; }
button { cursor: pointer; }
label { color: var(--none); font-size: .875rem; }
.field { display: flex; margin: 0; gap: .5rem; align-items: center; max-width: 100%; } .field > * { min-width: 0; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
caption { text-align: left; } caption h2 { margin: 1rem 0 .5rem; }
th, td { text-align: left; vertical-align: top; padding: .5rem .75rem; border-bottom: 1px solid var(--soft); }
tbody tr:hover { background: var(--raised); }
thead th { background: var(--raised); color: var(--none); font-size: .875rem; font-weight: 600; overflow-wrap: normal; }
time { white-space: nowrap; }
tbody th { font-weight: normal; min-width: 14rem; }
td p { margin: .25rem 0 0; overflow-wrap: anywhere; }
.less { color: var(--none); font-size: .875rem; }
pre, code { font-family: ui-monospace, monospace; font-size: .9375rem; }
pre { background: var(--raised); padding: .75rem; tab-size: 4; white-space: pre-wrap; }
summary { cursor: pointer; font-size: 1.1rem; font-weight: 700; margin: 2rem 0 .5rem; }
.note, #live.lost, #live noscript { display: block; background: var(--raised); border-left: 4px solid var(--line); border-radius: 0 .375rem .375rem 0; padding: .5rem .75rem; }
#live.lost { border-left-color: var(--bad); color: var(--bad); font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); } .wait { color: var(--wait); } .none { color: var(--none); }
.good, .bad, .wait { font-weight: 600; }
td .good, td .bad, td .wait, td .none, .word { overflow-wrap: break-word; }
dt { font-weight: 600; } dd { margin: 0 0 .75rem; }
dl, .wrong li { border-left: 4px solid var(--bad); padding-left: .75rem; }
.wrong { list-style: none; padding: 0; } .wrong li { margin: .75rem 0; } .wrong p { margin: .125rem 0; }
figure { margin: 0; } figcaption { color: var(--none); font-size: .875rem; }
.picture { display: grid; grid-template-columns: 4fr 3fr 4fr 3fr 4fr; }
.picture.inner { grid-template-columns: 4fr 3fr 4fr; }
.picture > p { margin: 0 0 .5rem; color: var(--none); font-size: .875rem; }
.picture div { position: relative; }
.picture div > p { height: 4rem; margin: 0 0 1rem; padding: .25rem .75rem; line-height: 1.35; overflow: hidden; display: flex;
  flex-direction: column; justify-content: center; background: var(--raised); border: 1px solid var(--line); border-radius: .5rem; }
.picture svg { position: absolute; inset: 0; width: 100%; height: 100%; }
.picture small { font-size: .8125rem; }
.picture path { fill: none; stroke: var(--line); stroke-width: 2; vector-effect: non-scaling-stroke; }
.picture .redirect { stroke-dasharray: 6 4; } .picture .down { stroke: var(--bad); stroke-dasharray: 2 4; }
@media (max-width: 64rem) {
  body { padding: 0 .75rem 2rem; }
  form.fields p { flex-basis: 100%; }
  thead { position: absolute; left: -99rem; }
  table, caption, tbody, tr, tbody th, td { display: block; }
  tr { border-bottom: 1px solid var(--soft); padding: .5rem 0; }
  tbody th, td { border: 0; padding: .0625rem 0; }
  td::before { content: attr(data-label) ': '; color: var(--none); font-size: .875rem; }
  td > p { display: inline; }
  .picture { grid-template-columns: 6fr 1fr 6fr 1fr 6fr; } .picture.inner { grid-template-columns: 4fr 1fr 4fr; }
  .picture div > p { padding: .25rem; font-size: .875rem; }
}
`;
