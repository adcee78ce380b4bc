/**
 * What our programs use of undici, in place of its index, which loads all that it has: fetch,
 * WebSockets, caches, mocks. A third of an agent's bundle was never called.
 */
const Dispatcher = require('undici/lib/dispatcher/dispatcher.js');

Dispatcher.prototype.request = require('undici/lib/api/api-request.js');

module.exports = {
  Pool: require('undici/lib/dispatcher/pool.js'),
  buildConnector: require('undici/lib/core/connect.js'),
};
