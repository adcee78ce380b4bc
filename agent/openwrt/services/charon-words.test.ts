import { expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import { lastWordsIn, withWords } from './charon-words.ts';

const AT = 'Sat Nov 28 12:00:00 2026 daemon.info ipsec: ';
const LOG = [
  "05[CFG] vici initiate CHILD_SA 'net'",
  '11[IKE] initiating IKE_SA hub[3] to 203.0.113.1',
  '11[NET] sending packet: from 203.0.113.9[500] to 203.0.113.1[500] (464 bytes)',
  '12[NET] received packet: from 203.0.113.1[4500] to 203.0.113.9[4500] (80 bytes)',
  '12[ENC] parsed IKE_AUTH response 1 [ N(AUTH_FAILED) ]',
  '12[IKE] received AUTHENTICATION_FAILED\u0007 notify \u00e9rror',
  '12[NET] received packet: from 203.0.113.2[4500] to 203.0.113.9[4500] (80 bytes)',
  '12[IKE] received NO_PROPOSAL_CHOSEN notify error',
  '13[IKE] retransmit 3 of request with message ID 0',
  '13[NET] sending packet: from 203.0.113.9[500] to 2001:db8::3[500] (464 bytes)',
  `14[IKE] ${'x'.repeat(300)} IKE_SA far[4]`,
  "17[CFG] initiating 'one-net'",
  "16[LIB] resolving 'one.example' failed: Temporary failure in name resolution",
  '17[IKE] unable to resolve one.example, initiate aborted',
  '15[IKE] of nobody known',
].map((line) => `${AT}${line}\n`);

it("charon's words are those of the job that was about the remote, cleaned and bounded", () => {
  expect([...lastWordsIn(`${LOG.join('')}no line of charon's`)]).toEqual([
    ['hub', 'initiating IKE_SA hub[3] to 203.0.113.1'],
    ['203.0.113.1', 'received AUTHENTICATION_FAILED  notify  rror'],
    ['203.0.113.2', 'received NO_PROPOSAL_CHOSEN notify error'],
    ['2001:db8::3', 'retransmit 3 of request with message ID 0'],
    ['far', 'x'.repeat(128)],
    ['one.example', 'unable to resolve one.example, initiate aborted'],
  ]);
});

it('stand with each tunnel that is to come up and has not, the latest of them', () => {
  const ipsec = [
    namedSection('remote', 'hub', { remote_addrs: ['203.0.113.1'] }),
    namedSection('remote', 'quiet', { gateway: '203.0.113.7' }),
  ];
  const tunnel = (name: string, up: boolean, starts?: true) => ({
    name,
    up,
    state: 'DOWN',
    ...(starts && { starts }),
  });
  const tunnels = [
    tunnel('hub-net', false, true),
    tunnel('hub-up', true, true),
    tunnel('hub-waits', false),
    tunnel('quiet-net', false, true),
  ];
  const [first, ...others] = withWords(tunnels, ipsec, lastWordsIn(LOG.join('')));
  expect(first).toMatchObject({ words: 'received AUTHENTICATION_FAILED  notify  rror' });
  expect(others).toEqual(tunnels.slice(1));
});
