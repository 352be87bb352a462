import { expect, test } from '@jest/globals';
import type { ConfigEvent, ConfigStore } from '../../core/config/config-store.js';
import type { EpochMs } from '../../core/units/time.js';
import { reportOpenSponsorship } from '../../standalone/life.js';
import { aPaymasterConfig } from '../build/configs.js';

const open = { contractsRegistered: false, contracts: [], defaultContractAction: 'Allow' } as const;

function aReport() {
  const lines: string[] = [];
  let deliver: (event: ConfigEvent) => void = () => {};
  const configs: Pick<ConfigStore, 'watch'> = {
    watch: (handler) => {
      deliver = handler;
      return { synced: Promise.resolve(), confirmedAt: () => 0 as EpochMs, stop: () => {} };
    },
  };
  const note = (text = ''): void => void lines.push(text);
  const console = { line: note, warn: note };
  reportOpenSponsorship(configs, console);
  const put = (change: object) =>
    deliver({
      type: 'put-paymaster',
      config: aPaymasterConfig({ paymasterId: 'p1', name: 'my dapp', ...change }),
    });
  return { lines, put, deliver };
}

test('the terminal warns once of a paymaster that sponsors calls to any contract, and says when that ends', () => {
  const { lines, put } = aReport();
  put(open);
  put({ ...open, configGeneration: 2 });
  expect(lines).toEqual([
    'paymaster "my dapp" (p1) sponsors calls to ANY contract: register one and leave contractsEnforcement out, or set defaultContractAction to Deny',
  ]);
  put({});
  expect(lines[1]).toBe('paymaster "my dapp" (p1) no longer sponsors calls to any contract');
});

test.each([
  { name: 'contracts are registered', change: {} },
  { name: 'nothing is sponsored without a contract', change: { ...open, defaultContractAction: 'Deny' } },
  { name: 'its contracts are paused', change: { ...open, contractsRegistered: true } },
  { name: 'it is suspended', change: { ...open, suspended: true } },
])('it says nothing where $name', ({ change }) => {
  const { lines, put } = aReport();
  put(change);
  expect(lines).toEqual([]);
});

test('one that was deleted and made again is warned of again', () => {
  const { lines, put, deliver } = aReport();
  put(open);
  deliver({ type: 'delete-paymaster', paymasterId: 'p1' });
  put(open);
  expect(lines).toHaveLength(2);
});
