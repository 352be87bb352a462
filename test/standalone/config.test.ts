import { expect, test } from '@jest/globals';
import { parseStandaloneConfig } from '../../standalone/config.js';

test.each([
  [{ PORT: 'eighty' }, /PORT must be a whole number from 1 to 65535, got "eighty"/],
  [{ CHAIN_PORT: '85450000' }, /CHAIN_PORT must be a whole number from 1 to 65535, got "85450000"/],
  [{ BUNDLER: 'yes' }, /BUNDLER must be one of 0, 1, installed, got "yes"/],
  [{ LOG_LEVEL: 'loud' }, /LOG_LEVEL must be one of.*"loud"/],
  [{ PAYMASTER_AUTH_TOKEN: 'short' }, /PAYMASTER_AUTH_TOKEN must be 16/],
  [{ CHAIN_RPC_URL: 'anvil' }, /CHAIN_RPC_URL must be an http/],
  [{ HOST: '0.0.0.0' }, /HOST must be 127\.0\.0\.1, or PAYMASTER_PUBLIC_URL be set.* got "0\.0\.0\.0"/],
  [{ HOST: 'pay.example.org' }, /without TLS anyone on the way reads keys/],
  [{ PAYMASTER_PUBLIC_URL: 'http://pay.example.org' }, /PAYMASTER_PUBLIC_URL must be https/],
  [{ PAYMASTER_PUBLIC_URL: 'https://pay.example.org/api' }, /PAYMASTER_PUBLIC_URL must be https/],
  [{ PAYMASTER_PROXIES: '172.30.0.2' }, /PAYMASTER_PROXIES must be a CIDR range/],
  [{ PAYMASTER_PROXIES: '0.0.0.0/0' }, /PAYMASTER_PROXIES must be networks of at most \/8/],
])('%j is refused by name', (environment, message) => {
  expect(() => parseStandaloneConfig(environment, '/')).toThrow(message);
});

test('what others reach through a proxy on this machine may not call this machine by webhooks', () => {
  const read = (env: NodeJS.ProcessEnv) => parseStandaloneConfig(env, '/').allowLoopbackWebhooks;
  expect(read({})).toBe(true);
  expect(read({ PAYMASTER_PUBLIC_URL: 'https://pay.example.org' })).toBe(false);
  expect(read({ HOST: '0.0.0.0', PAYMASTER_PUBLIC_URL: 'https://pay.example.org' })).toBe(false);
});
