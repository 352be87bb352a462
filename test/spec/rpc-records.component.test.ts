import { expect, test } from '@jest/globals';
import { entryPoints } from '../../core/entry-point/address.js';
import type { Decision } from '../../core/ledger/record.js';
import { refuse } from '../../core/refusal.js';
import { toAddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { addressOf, aLimitConfig, aPaymasterConfig, someToken } from '../build/configs.js';
import { aTokenChain, usdx } from '../build/fee-tokens.js';
import { anOperation, execute } from '../build/operations.js';
import { until } from '../support/until.js';
import { useRpc } from '../support/use-rpc.js';

// Which requests have a record for the ledger: every verdict about a signature or a stub, in whatever form it is answered.

const host = useRpc({ chain: aTokenChain(), paymaster: { limits: [aLimitConfig({ policyId: 'daily' })] } });
const sponsored = { mode: 'SPONSORED' } as const;
const inTokens = { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } } as const;
const stranger = execute(addressOf(0xdead));
let nonce = 0;

/** An operation that no other request of this file is about. */
function fresh(callData?: string) {
  nonce += 1;
  return anOperation({ nonce: `0x${nonce.toString(16)}`, ...(callData === undefined ? {} : { callData }) });
}

/** All decisions that the server has recorded. */
async function recorded(): Promise<readonly Decision[]> {
  const { namespace: organisation } = aPaymasterConfig();
  const range = { organisation, from: 0 as EpochMs, to: (host.clock.now() + 86_400_000) as EpochMs };
  const { decisions } = await host.ledger.decisions({ ...range, limit: 500 });
  return decisions.map(({ decision }) => decision);
}

/** The records of these operations, in their order, as soon as there are `count` of them. */
async function recordsOf(operations: readonly object[], count: number): Promise<readonly Decision[]> {
  const nonces = operations.map((operation) => BigInt(String(Object(operation)['nonce'])));
  let found: readonly Decision[] = [];
  await until(`${count} records are there`, async () => {
    found = (await recorded()).filter((record) => nonces.includes(record.nonce));
    return found.length >= count;
  });
  return found.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

test('a signature has a record in either mode, with what it may cost and the limits that count it', async () => {
  const [a, b] = [fresh(), fresh()];
  await host.call('pm_sponsorUserOperation', [a, sponsored]);
  await host.call('pm_sponsorUserOperation', [b, inTokens]);
  expect(await recordsOf([a, b], 2)).toEqual([
    expect.objectContaining({
      verdict: 'sponsored',
      mode: 'SPONSORED',
      method: 'pm_sponsorUserOperation',
      policies: [{ policyId: 'daily', effect: 'counted' }],
      maxCostWei: expect.any(BigInt),
      digest: expect.stringMatching(/^0x[0-9a-f]{32}$/),
    }),
    expect.objectContaining({
      verdict: 'sponsored',
      mode: 'ERC20',
      token: usdx.address.toLowerCase(),
      policies: [],
      calls: [expect.objectContaining({ contractId: 'Coin' })],
    }),
  ]);
});

test('a refusal has a record, also one that is answered as an error, and one of a stub', async () => {
  const [a, b, c, d] = [fresh(stranger), fresh(stranger), fresh(stranger), fresh()];
  await host.call('pm_sponsorUserOperation', [a, sponsored]);
  await host.call('pm_getPaymasterData', [b, entryPoints['0.6'], '0x7a69', sponsored]);
  await host.call('pm_getPaymasterStubData', [c, entryPoints['0.6'], '0x7a69', sponsored]);
  host.world.payment = () => Promise.resolve(refuse('TOKEN_PAYMENT_FAILS', 'as simulated'));
  await host.call('pm_sponsorUserOperation', [d, inTokens]);
  const methods = ['pm_sponsorUserOperation', 'pm_getPaymasterData', 'pm_getPaymasterStubData'];
  expect(await recordsOf([a, b, c, d], 4)).toEqual([
    ...methods.map((method) =>
      expect.objectContaining({ verdict: 'refused', reason: 'CONTRACT_NOT_REGISTERED', method }),
    ),
    expect.objectContaining({ verdict: 'refused', reason: 'TOKEN_PAYMENT_FAILS', detail: 'as simulated' }),
  ]);
});

test('a refusal by a limit names its policy', async () => {
  await host.put({ limits: [aLimitConfig({ policyId: 'none', threshold: '0' })] });
  const operation = fresh();
  await host.call('pm_sponsorUserOperation', [operation, sponsored]);
  await host.put();
  expect(await recordsOf([operation], 1)).toEqual([
    expect.objectContaining({
      reason: 'LIMIT_REACHED',
      policies: [{ policyId: 'none', effect: 'refused' }],
      maxCostWei: expect.any(BigInt),
    }),
  ]);
});

test('each call of a batch has its own record, whatever id the caller repeats', async () => {
  const operations = [fresh(), fresh(stranger), fresh()];
  const calls = operations.map((operation) => ({
    jsonrpc: '2.0',
    id: 'same',
    method: 'pm_sponsorUserOperation',
    params: [operation, sponsored],
  }));
  const headers = { 'x-request-id': '"one" for all' };
  await host.post(JSON.stringify(calls), { headers });
  await host.post(JSON.stringify(calls), { headers });
  const records = await recordsOf(operations, 6);
  expect(new Set(records.map(({ id }) => id)).size).toBe(6);
  expect(records.map(({ callerRequestId }) => callerRequestId)).toEqual(Array(6).fill('"one"forall'));
  expect(records.filter(({ verdict }) => verdict === 'refused')).toHaveLength(2);
});

test('explanations and quotes have no record', async () => {
  const [a, b, c] = [fresh(stranger), fresh(stranger), fresh(stranger)];
  await host.call('pm_explainSponsorship', [a, sponsored], { headers: { authToken: someToken } });
  const quoted = await host.call('pm_getFeeQuoteOrData', [
    b,
    { mode: 'ERC20', tokenInfo: { tokenList: [] } },
  ]);
  expect(quoted.status).toBe(200);
  await host.call('pm_sponsorUserOperation', [c, sponsored]);
  // Refusals are offered in their order, so one of the explanation would be there before this one.
  const records = await recordsOf([a, b, c], 1);
  expect(records.map(({ nonce: of }) => of)).toEqual([BigInt(String(c['nonce']))]);
  expect(records[0]?.sender).toBe(toAddressKey(addressOf(0xa11ce)));
});
