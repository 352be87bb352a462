import { beforeEach, expect, test } from '@jest/globals';
import { entryPoints } from '../../core/entry-point/address.js';
import { anOperation, sponsored } from '../build/operations.js';
import { type RpcAnswer } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

// A paymaster without a registered contract sponsors calls to any contract: its answers must show that.

const host = useRpc();
let nonce = 0;

const open = { contractsRegistered: false, contracts: [], defaultContractAction: 'Allow' } as const;
beforeEach(() => host.put(open));

const forms: readonly { readonly name: string; readonly ask: () => Promise<RpcAnswer> }[] = [
  {
    name: 'pm_sponsorUserOperation',
    ask: () => host.call('pm_sponsorUserOperation', [anOperation({ nonce: (nonce += 1) }), sponsored]),
  },
  {
    name: 'pm_getFeeQuoteOrData',
    ask: () => host.call('pm_getFeeQuoteOrData', [anOperation({ nonce: (nonce += 1) }), sponsored]),
  },
  {
    name: 'pm_getPaymasterData (ERC-7677)',
    ask: () =>
      host.call('pm_getPaymasterData', [
        anOperation({ nonce: (nonce += 1) }),
        entryPoints['0.6'],
        '0x7a69',
        null,
      ]),
  },
];

test.each(forms)('$name says so in a field and a header', async ({ ask }) => {
  const { body, headers } = await ask();
  expect(body.result?.['paymasterAndData']).not.toBe('0x');
  expect(body.result?.['openSponsorship']).toBe(true);
  expect(headers.get('x-open-sponsorship')).toBe('true');
  expect(headers.get('access-control-expose-headers')).toContain('X-Open-Sponsorship');
});

test.each(forms)('$name says nothing of it where contracts are registered', async ({ ask }) => {
  await host.put();
  const { body, headers } = await ask();
  expect(body.result?.['paymasterAndData']).not.toBe('0x');
  expect(body.result).not.toHaveProperty('openSponsorship');
  expect(headers.get('x-open-sponsorship')).toBeNull();
});

test('a refusal says nothing of it', async () => {
  await host.put({ ...open, suspended: true });
  const { body, headers } = await host.call('pm_sponsorUserOperation', [anOperation(), sponsored]);
  expect(body.result).toMatchObject({ paymasterAndData: '0x', reason: 'SUSPENDED' });
  expect(body.result).not.toHaveProperty('openSponsorship');
  expect(headers.get('x-open-sponsorship')).toBeNull();
});

test('metrics count such paymasters, and what they sponsored', async () => {
  const metric = async (name: string) => {
    const match = new RegExp(`^${name} (\\d+)$`, 'm').exec((await host.metrics.render()).body);
    return Number(match?.[1]);
  };
  expect(await metric('paymaster_open_paymasters')).toBe(1);
  const before = await metric('paymaster_open_sponsorships_total');
  await forms[0]?.ask();
  expect(await metric('paymaster_open_sponsorships_total')).toBe(before + 1);
  await host.put();
  expect(await metric('paymaster_open_paymasters')).toBe(0);
  await forms[0]?.ask();
  expect(await metric('paymaster_open_sponsorships_total')).toBe(before + 1);
});
