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
.scroll { overflow: auto; max-width: 100%; max-height: 80vh; margin: .75rem 0; border: 1px solid var(--soft); border-radius: .5rem; }
table { border-collapse: separate; border-spacing: 0; min-width: 100%; }
caption { position: sticky; left: 0; text-align: left; font-weight: 600; padding: .5rem .75rem; }
th, td { text-align: left; vertical-align: top; padding: .5rem .75rem; border-bottom: 1px solid var(--soft);
  min-width: 7.5rem; max-width: 34rem; overflow-wrap: break-word; }
tbody tr:last-child > * { border-bottom: 0; }
tbody tr:hover > * { background: var(--raised); }
thead th { position: sticky; top: 0; z-index: 1; background: var(--raised); color: var(--none); font-size: .875rem; font-weight: 600; }
tbody th { position: sticky; left: 0; background: var(--ground); font-weight: normal; min-width: 9rem; max-width: 20rem; }
time { white-space: nowrap; }
td p { margin: .25rem 0 0; overflow-wrap: anywhere; }
.less { color: var(--none); font-size: .875rem; }
pre, code { font-family: ui-monospace, monospace; font-size: .9375rem; }
pre { background: var(--raised); padding: .75rem; tab-size: 4; }
.note, #live.lost, #live noscript { display: block; background: var(--raised); border-left: 4px solid var(--line); border-radius: 0 .375rem .375rem 0; padding: .5rem .75rem; }
#live.lost { border-left-color: var(--bad); color: var(--bad); font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); } .wait { color: var(--wait); } .none { color: var(--none); }
.good, .bad, .wait { font-weight: 600; }
dt { font-weight: 600; } dd { margin: 0 0 .75rem; }
dl { border-left: 4px solid var(--bad); padding-left: .75rem; }
figure { margin: 0; } figcaption { color: var(--none); font-size: .875rem; max-width: 45rem; }
figure .scroll { padding: 1rem; }
svg { display: block; } svg text { fill: var(--words); font-size: 13px; } svg .name { font-weight: 600; }
svg rect { fill: var(--raised); stroke: var(--line); } svg marker path { fill: var(--line); }
svg .forwarding, svg .redirect { fill: none; stroke: var(--line); stroke-width: 2; } svg .redirect { stroke-dasharray: 6 4; }
@media (max-width: 40rem) {
  body { padding: 0 .75rem 2rem; }
  th, td { padding: .375rem .5rem; max-width: 15rem; }
  tbody th { max-width: 10rem; min-width: 7rem; }
  form.fields p { flex-basis: 100%; }
}
`;
