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
      const next = [...now.querySelectorAll('a, [tabindex]')].find(same);
      if (next) next.focus({ preventScroll: true });
    };
  };
  const scrollsIn = (content) =>
    [...content.querySelectorAll('.scroll[id]')].map((one) => [one.id, one.scrollLeft, one.scrollTop]);
  const show = (text) => {
    const page = new DOMParser().parseFromString(text, 'text/html');
    const next = page.getElementById('content');
    const now = document.getElementById('content');
    if (!next || !now) return;
    const refocus = focusIn(now);
    const scrolls = scrollsIn(now);
    const taken = document.importNode(next, true);
    now.replaceWith(taken);
    for (const [id, left, top] of scrolls) {
      const one = document.getElementById(id);
      if (one) one.scrollTo(left, top);
    }
    refocus(taken);
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
  }, 5000);
})();
`;
