import { describe, expect, it } from 'vitest';
import { certificatesIn, privateKeyIn } from './pem.ts';

const pem = (label: string, body: string, end = '\n') =>
  `-----BEGIN ${label}-----${end}${body}${end}-----END ${label}-----${end}`;
const base64 = (text: string) => Buffer.from(text).toString('base64');
const one = pem('CERTIFICATE', 'b25l');
const two = pem('CERTIFICATE', 'dHdv');
const key = pem('PRIVATE KEY', 'a2V5');
const LONG = 'A'.repeat(64);

describe('certificates', () => {
  it.each<[string, string, string[] | undefined]>([
    ['are base64 of PEM', base64(one), [one]],
    ["are joined by ___, as ICN's REST takes them", `${base64(one)}___${base64(two)}`, [one, two]],
    ['may be several in one part', base64(one + two), [one, two]],
    ['may have text around them', base64(`Subject: one\n${one}\nSubject: two\n${two}`), [one, two]],
    [
      'are written in one way',
      base64(pem('CERTIFICATE', `${LONG}AAAA`, '\r\n')),
      [pem('CERTIFICATE', `${LONG}\nAAAA`)],
    ],
    ['are no keys', base64(key), undefined],
    ['are not mixed with keys', base64(one + key), undefined],
    ['are whole', base64(one.slice(0, -5)), undefined],
    ['are base64 inside, too', base64(pem('CERTIFICATE', 'b25')), undefined],
    ['are something', '___', undefined],
    ['are no base64 of anything else', base64('one'), undefined],
  ])('%s', (_what, value, expected) => {
    expect(certificatesIn(value)).toEqual(expected);
  });
});

describe('a private key', () => {
  it.each<[string, string, string | undefined]>([
    ['is PEM, as Secrets hold it', key, key],
    ['is base64 of PEM', base64(key), key],
    [
      'may come with its curve',
      pem('EC PARAMETERS', 'Y3VydmU=') + pem('EC PRIVATE KEY', 'a2V5'),
      pem('EC PRIVATE KEY', 'a2V5'),
    ],
    ['is one', key + key, undefined],
    ['is no certificate', one, undefined],
    ['has no passphrase', pem('ENCRYPTED PRIVATE KEY', 'a2V5'), undefined],
    [
      'has no passphrase in the old form, either',
      pem('RSA PRIVATE KEY', 'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\na2V5'),
      undefined,
    ],
    ['is something', '', undefined],
  ])('%s', (_what, value, expected) => {
    expect(privateKeyIn(value)).toEqual(expected);
  });
});
