import { expect, it } from 'vitest';

import { rewriteLoopbackUrls } from './loopback.ts';

const ports = new Map([
  [80, 8080],
  [443, 8443],
  [9090, 9090],
]);

it.each([
  ['http://127.0.0.1', 'http://127.5.0.2:8080'],
  ['http://127.0.0.1:80/ubus', 'http://127.5.0.2:8080/ubus'],
  ['https://localhost/x', 'https://127.5.0.2:8443/x'],
  ['http://[::1]:9090', 'http://127.5.0.2:9090'],
  [
    'a=http://localhost:80,b=https://localhost:443',
    'a=http://127.5.0.2:8080,b=https://127.5.0.2:8443',
  ],
  ['https://127.0.0.1:40123/apis', 'https://127.0.0.1:40123/apis'],
  ['http://127.0.0.10:80', 'http://127.0.0.10:80'],
  ['http://example.org:80', 'http://example.org:80'],
  ['127.0.0.1', '127.0.0.1'],
])('%s becomes %s', (url, expected) => {
  expect(rewriteLoopbackUrls(url, '127.5.0.2', ports)).toBe(expected);
});
