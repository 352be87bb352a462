import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { entryPoint06 } from '../../core/entry-point/v06.js';
import { entryPoint09 } from '../../core/entry-point/v09.js';
import { compileAddressList, type AddressList } from '../../core/policy/address-list.js';
import { priced } from '../../core/pricing/price-source.js';
import type { EpochMs } from '../../core/units/time.js';
import { addressOf, aPaymasterConfig, someChainId, someToken, someVersions } from '../build/configs.js';
import { aPrice, aTokenProfile, usdx } from '../build/fee-tokens.js';
import { anOperation, sponsored } from '../build/operations.js';
import { until } from '../support/until.js';
import { useRpc } from '../support/use-rpc.js';

const chain = {
  profiles: someVersions.map(aTokenProfile).map((profile) => ({ ...profile, tokenLossBudget: '100' })),
  feeTokens: [usdx],
};
const host = useRpc({ chain });
const mallory = addressOf(0xabcdef1234);
const alice = addressOf(0xa11ce);
const inTokens = { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } };
const both = ['SPONSORED', 'ERC20'] as const;
let nonce = 100;

beforeEach(async () => {
  host.world.price = () => priced(aPrice());
  await host.putChain(chain);
  await host.put();
});

type Config = NonNullable<PaymasterConfig['senders']>[number];
const listOf = (addresses: readonly string[]): AddressList => compileAddressList(addresses).list;
async function senders(
  action: Config['action'],
  addresses: readonly string[],
  more: Partial<Config> = {},
): Promise<Config> {
  const list = listOf(addresses);
  await host.configs.putList(list);
  return { policyId: 's1', name: 'Guests', action, list: list.hash, count: list.addresses.length, ...more };
}

/** Every way to have something signed, quoted or prepared: the reason of each refusal. */
async function reasonsOf(sender: string, modes: readonly ('SPONSORED' | 'ERC20')[] = both) {
  const operation = (): object => anOperation({ sender, nonce: (nonce += 1) });
  const reasonOf = async (method: string, params: readonly unknown[], headers = {}) => {
    const { body } = await host.call(method, params, { headers });
    return [method, body.error?.data.reason ?? body.result?.['reason']] as const;
  };
  const asked = modes.flatMap((mode) => {
    const terms = mode === 'ERC20' ? inTokens : sponsored;
    const context = mode === 'ERC20' ? { token: usdx.address } : {};
    return [
      reasonOf('pm_sponsorUserOperation', [operation(), terms]),
      reasonOf('pm_getFeeQuoteOrData', [operation(), terms]),
      reasonOf('pm_explainSponsorship', [operation(), terms], { authToken: someToken }),
      ...['pm_getPaymasterData', 'pm_getPaymasterStubData'].map((method) =>
        reasonOf(method, [operation(), entryPoint06.address, someChainId, context]),
      ),
    ];
  });
  return new Set((await Promise.all(asked)).map(([, reason]) => reason));
}

describe('a SENDERS policy', () => {
  test.each([
    { action: 'Deny', addresses: [mallory], alice: undefined, mallory: 'SENDER_NOT_ALLOWED' },
    { action: 'Allow', addresses: [alice], alice: undefined, mallory: 'SENDER_NOT_ALLOWED' },
    { action: 'Allow', addresses: [], alice: 'SENDER_NOT_ALLOWED', mallory: 'SENDER_NOT_ALLOWED' },
    { action: 'Deny', addresses: [], alice: undefined, mallory: undefined },
  ] as const)('$action $addresses', async ({ action, addresses, ...wanted }) => {
    await host.put({ senders: [await senders(action, addresses)] });
    expect([...(await reasonsOf(alice, ['SPONSORED']))]).toEqual([wanted.alice]);
    expect([...(await reasonsOf(mallory, ['SPONSORED']))]).toEqual([wanted.mallory]);
  });

  test('knows an account however its address is spelled', async () => {
    await host.put({ senders: [await senders('Deny', [mallory.toUpperCase().replace('0X', '0x')])] });
    for (const sender of [mallory, mallory.toLowerCase()])
      expect([...(await reasonsOf(sender, ['SPONSORED']))]).toEqual(['SENDER_NOT_ALLOWED']);
  });

  test('is one of several that all have to pass; the record and the explanation name the one that does not', async () => {
    await host.put({
      senders: [
        await senders('Allow', [alice, mallory]),
        await senders('Deny', [mallory], { policyId: 's2' }),
      ],
    });
    expect([...(await reasonsOf(alice, ['SPONSORED']))]).toEqual([undefined]);
    expect([...(await reasonsOf(mallory, ['SPONSORED']))]).toEqual(['SENDER_NOT_ALLOWED']);
    const { body } = await host.call('pm_explainSponsorship', [anOperation({ sender: mallory }), sponsored], {
      headers: { authToken: someToken },
    });
    expect(body.result).toMatchObject({
      rules: [
        { policyType: 'CONTRACTS', verdict: 'pass' },
        { policyType: 'SENDERS', policyId: 's1', says: 'serves 2 accounts alone', verdict: 'pass' },
        {
          policyType: 'SENDERS',
          policyId: 's2',
          says: expect.stringMatching(/is on the list/),
          verdict: 'refuse',
        },
      ],
      steps: expect.arrayContaining([
        expect.objectContaining({ step: 'senders', verdict: 'refuse', reason: 'SENDER_NOT_ALLOWED' }),
      ]),
    });
    const to = (host.clock.now() + 60_000) as EpochMs;
    const range = { organisation: aPaymasterConfig().namespace, from: 0 as EpochMs, to, limit: 50 };
    await until('the refusal is recorded', async () =>
      (await host.ledger.decisions(range)).decisions.some(({ decision: { policies } }) =>
        policies.some(({ policyId, effect }) => policyId === 's2' && effect === 'refused'),
      ),
    );
  });

  test('whose list is not here refuses everybody, and judges as soon as it is', async () => {
    const list = listOf([mallory, addressOf(0x111)]);
    const policy: Config = { policyId: 's1', name: 'Guests', action: 'Deny', list: list.hash, count: 2 };
    await host.put({ senders: [{ ...policy, appliesTo: both }] });
    for (const sender of [alice, mallory])
      expect([...(await reasonsOf(sender))]).toEqual(['SENDERS_UNKNOWN']);
    await host.configs.putList(list);
    expect([...(await reasonsOf(alice))]).toEqual([undefined]);
    expect([...(await reasonsOf(mallory))]).toEqual(['SENDER_NOT_ALLOWED']);
  });

  test('that Allows is not got around by paying in tokens where it applies to that, in any way to ask', async () => {
    const policy = await senders('Allow', [alice]);
    await host.put({ senders: [policy] });
    // The default, which the table of docs/policies.md states: the user pays.
    expect([...(await reasonsOf(mallory, ['ERC20']))]).toEqual([undefined]);
    await host.put({ senders: [{ ...policy, appliesTo: both }] });
    expect([...(await reasonsOf(mallory))]).toEqual(['SENDER_NOT_ALLOWED']);
    expect([...(await reasonsOf(alice))]).toEqual([undefined]);
  });

  test('judges a finalize again: a commit from before an account was denied is not signed', async () => {
    const version = 'hybrid-0.9';
    for (const context of [{}, { token: usdx.address }]) {
      await host.put({ version });
      const operation = anOperation({ sender: mallory, nonce: (nonce += 1) });
      const get = async (fields: object, signingPhase: string) =>
        (
          await host.call('pm_getPaymasterData', [
            { ...operation, ...fields },
            entryPoint09.address,
            someChainId,
            { ...context, signingPhase },
          ])
        ).body;
      const committed = (await get({}, 'commit')).result ?? {};
      await host.put({ version, senders: [await senders('Deny', [mallory], { appliesTo: both })] });
      const final = await get({ ...committed, signature: '0x5157' }, 'finalize');
      expect(final.error?.data.reason).toBe('SENDER_NOT_ALLOWED');
    }
  });
});

describe('deniedSenders of the Chain', () => {
  test('refuses in every mode and method, whatever the paymaster allows', async () => {
    const list = listOf([mallory]);
    await host.configs.putList(list);
    await host.putChain({ ...chain, deniedSenders: list.hash });
    await host.put({ senders: [await senders('Allow', [mallory, alice])] });
    expect([...(await reasonsOf(mallory))]).toEqual(['SENDER_DENIED']);
    expect([...(await reasonsOf(alice))]).toEqual([undefined]);
  });

  test('refuses everybody while its list is not here', async () => {
    await host.putChain({ ...chain, deniedSenders: listOf([addressOf(0x222)]).hash });
    expect([...(await reasonsOf(alice))]).toEqual(['SENDERS_UNKNOWN']);
  });
});
