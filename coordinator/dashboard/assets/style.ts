/** The look of all pages. Colours are declared once per scheme; a test computes their contrast. */
export const COLOURS = {
  light: {
    ground: '#ffffff',
    raised: '#f1f3f5',
    words: '#1b1f24',
    line: '#6b7280',
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
body { margin: 0 auto; padding: 0 1rem 2rem; max-width: 90rem; background: var(--ground); color: var(--words);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 0; background: var(--ground); padding: .5rem; z-index: 1; }
header { display: flex; flex-wrap: wrap; gap: .5rem 2rem; align-items: center; justify-content: space-between;
  border-bottom: 1px solid var(--line); padding: .5rem 0; }
header nav { display: flex; gap: 1rem; }
header form p { margin: 0; }
a[aria-current] { font-weight: bold; }
form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .5rem 0; }
form.tall { flex-direction: column; align-items: stretch; max-width: 30rem; }
input, select, button { font: inherit; color: inherit; background: var(--raised); border: 1px solid var(--line);
  border-radius: .25rem; padding: .25rem .5rem; min-height: 2.5rem; max-width: 100%; }
.scroll { overflow: auto; max-width: 100%; max-height: 80vh; }
table { border-collapse: collapse; }
caption { text-align: left; font-weight: bold; padding: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line);
  min-width: 6rem; max-width: 30rem; }
thead th { position: sticky; top: 0; background: var(--ground); }
tbody th { font-weight: normal; min-width: 9rem; }
pre, code { font-family: ui-monospace, monospace; }
pre { background: var(--raised); padding: .5rem; tab-size: 4; }
.note, #live:not(:empty) { background: var(--raised); border-left: 4px solid var(--line); padding: .25rem .75rem; }
#live.lost { border-left-color: var(--bad); color: var(--bad); font-weight: bold; }
.good { color: var(--good); } .bad { color: var(--bad); } .wait { color: var(--wait); } .none { color: var(--none); }
form.fields { align-items: end; } form.fields h2 { flex-basis: 100%; margin: .5rem 0 0; }
form.fields p { margin: 0; display: flex; flex-direction: column; }
figure { margin: 0; } figcaption { color: var(--none); max-width: 45rem; }
svg { display: block; } svg text { fill: var(--words); font-size: 13px; } svg .name { font-weight: bold; }
svg rect { fill: var(--raised); stroke: var(--line); } svg marker path { fill: var(--line); }
svg .forwarding, svg .redirect { fill: none; stroke: var(--line); stroke-width: 2; } svg .redirect { stroke-dasharray: 6 4; }
dt { font-weight: bold; } dd { margin: 0 0 .5rem; }
@media (max-width: 40rem) { body { padding: 0 .5rem 1rem; } th, td { max-width: 16rem; } }
`;
