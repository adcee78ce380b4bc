/**
 * What browsers run, as they get it: asks for a page again when the coordinator says that it is
 * another one, and says so when it no longer hears from the coordinator. Pages work without it. The
 * page comes as HTML and is taken over node by node, so no text becomes a script.
 */
export const SCRIPT = `'use strict';
(() => {
  const live = document.getElementById('live');
  if (!live) return;
  const SILENT_AFTER_MS = 25000;
  const say = (words, isLost) => {
    if (live.textContent !== words) live.textContent = words;
    live.classList.toggle('lost', isLost);
  };
  const clock = () => new Date().toISOString().slice(11, 19) + ' UTC';
  const skew = Date.now() - Number(live.dataset.now);
  let mark = live.dataset.mark;
  let heardAt = Date.now();
  let lostAt = '';
  let wanted = '';
  let isLoading = false;
  const heard = () => {
    heardAt = Date.now();
    lostAt = '';
    say('', false);
  };
  const lost = () => {
    lostAt = lostAt || clock();
    say('The connection to the coordinator is lost since ' + lostAt + '. What you see may be old.', true);
  };
  const focusIn = (content) => {
    const at = document.activeElement;
    if (!content.contains(at)) return () => undefined;
    const same = (one) => (at.id ? one.id === at.id : one.getAttribute('href') === at.getAttribute('href'));
    return (now) => {
      const next = [...now.querySelectorAll('a, input, select, summary')].find(same);
      if (next) next.focus({ preventScroll: true });
    };
  };
  const keep = (now, next) => {
    for (const one of next.querySelectorAll('form[id]')) {
      const old = now.querySelector('#' + one.id);
      if (old) one.replaceWith(old);
    }
    for (const one of next.querySelectorAll('details[id]'))
      one.open = (now.querySelector('#' + one.id) || one).open;
  };
  const UNITS = [[864e5, 'd'], [36e5, 'h'], [6e4, 'm'], [1e3, 's']];
  const age = () => {
    for (const one of document.querySelectorAll('#content time[title]')) {
      const passed = Math.max(0, Date.now() - skew - Date.parse(one.dateTime));
      const [size, unit] = UNITS.find(([ms]) => passed >= 2 * ms) || UNITS[3];
      one.textContent = Math.floor(passed / size) + unit + ' ago';
    }
  };
  const show = (text) => {
    const page = new DOMParser().parseFromString(text, 'text/html');
    const next = page.getElementById('content');
    const now = document.getElementById('content');
    if (!next || !now) return;
    const refocus = focusIn(now);
    const taken = document.importNode(next, true);
    keep(now, taken);
    now.replaceWith(taken);
    refocus(taken);
    age();
    mark = (page.getElementById('live') || { dataset: {} }).dataset.mark || mark;
  };
  const refresh = async () => {
    if (isLoading) return;
    isLoading = true;
    const asked = wanted;
    try {
      const answer = await fetch(location.href, { cache: 'no-store', redirect: 'error' });
      show(await answer.text());
      mark = asked;
    } catch {
      lost();
    } finally {
      isLoading = false;
    }
    if (wanted !== asked) await refresh();
  };
  age();
  const source = new EventSource('/live?of=' + encodeURIComponent(location.pathname + location.search));
  source.addEventListener('mark', ({ data }) => {
    heard();
    wanted = data;
    if (data !== mark) void refresh();
  });
  source.addEventListener('alive', heard);
  source.addEventListener('signed-out', () => {
    source.close();
    clearInterval(watch);
    say('You are signed out since ' + clock() + '. Sign in again. What you see may be old.', true);
  });
  source.addEventListener('error', lost);
  const watch = setInterval(() => {
    if (Date.now() - heardAt > SILENT_AFTER_MS) lost();
    age();
  }, 5000);
})();
`;
