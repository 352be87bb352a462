import { expect, test } from '@jest/globals';
import { parseStandaloneConfig } from '../../standalone/config.js';

test.each([
  [{ PORT: 'eighty' }, /PORT must be a whole number from 1 to 65535, got "eighty"/],
  [{ CHAIN_PORT: '85450000' }, /CHAIN_PORT must be a whole number from 1 to 65535, got "85450000"/],
  [{ BUNDLER: 'yes' }, /BUNDLER must be one of 0, 1, installed, got "yes"/],
  [{ LOG_LEVEL: 'loud' }, /LOG_LEVEL must be one of.*"loud"/],
  [{ PAYMASTER_AUTH_TOKEN: 'short' }, /PAYMASTER_AUTH_TOKEN must be 16/],
  [{ CHAIN_RPC_URL: 'anvil' }, /CHAIN_RPC_URL must be an http/],
])('%j is refused by name', (environment, message) => {
  expect(() => parseStandaloneConfig(environment, '/')).toThrow(message);
});
