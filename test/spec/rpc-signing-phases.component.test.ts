import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ChainConfig, ProfileConfig } from '../../core/config/chain-config.js';
import { entryPoint09 } from '../../core/entry-point/v09.js';
import { userOpHash } from '../../core/entry-point/user-op-hash.js';
import type { TokenPaymentRequest } from '../../core/paymaster/token-payment-checker.js';
import { priced, refused } from '../../core/pricing/price-source.js';
import { refuse } from '../../core/refusal.js';
import { toAddressKey, zeroAddress } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { parseUserOperation } from '../../core/userop/parse.js';
import { withLimits } from '../../server/decision/gas-limits.js';
import { addressOf, aPaymasterConfig, someChainId, someToken, someVersions } from '../build/configs.js';
import { aFeeToken, aPrice, aTokenProfile, eurx, usdx } from '../build/fee-tokens.js';
import { anOperation } from '../build/operations.js';
import {
  nextSignerAddress,
  signerAddress,
  startRpc,
  verifySponsorship,
  verifyTokenPayment,
  type RpcAnswer,
} from '../build/rpc.js';
import { settle } from '../build/unpaid.js';
import { useRpc } from '../support/use-rpc.js';
import {
  askedFor,
  dataOf,
  placeholder,
  signatureOf,
  withSignature,
  type Fields,
  type Form,
} from '../system/support/signing-phases.js';

const version = 'hybrid-0.9';
const signature = '0x5157';
const inTokens = { token: usdx.address };
const host = useRpc({ chain: aChain(), paymaster: { version } });

let checked: TokenPaymentRequest[] = [];
let senders = 0;
/** Another one for each test: what one has at stake is not another's matter. */
let sender = addressOf(0);

beforeEach(async () => {
  sender = addressOf(0x5000 + (senders += 1));
  checked = [];
  host.world.price = () => priced(aPrice());
  host.world.payment = (request) => {
    checked.push(request);
    return Promise.resolve({ pass: true });
  };
  host.world.account = () => Promise.resolve({ pass: true });
  host.world.takeable = 0n;
  await host.put();
  await host.putChain();
});
const rows = [
  { mode: 'SPONSORED', context: {} },
  { mode: 'ERC20', context: inTokens },
  { mode: 'ERC20', context: { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } } },
].flatMap((row) => (['field', 'joined'] as const).map((form) => ({ ...row, form })));

describe.each(rows)(
  'signingPhase in mode $mode, context $context, form "$form"',
  ({ mode, context, form }) => {
    test('a commit answers a placeholder and promises nothing; its finalize signs, and answers the same again', async () => {
      const committed = await commit(context, form);
      expect(signatureOf(committed, form)).toBe(placeholder);
      expect(await promises()).toEqual([]);

      const final = await finalized(committed, context);
      expect(dataOf(final, form)).toBe(dataOf(committed, form));
      expect(signatureOf(final, form)).toHaveLength(placeholder.length);
      expect(signatureOf(final, form)).not.toBe(placeholder);
      expect(final['validUntil']).toBe(committed['validUntil']);
      expect(await finalized(committed, context)).toEqual(final);
      expect(await promises()).toEqual([mode]);
    });

    test('the stub is as long as the data that are signed', async () => {
      const fields = askedFor(form, entryPoint09.address);
      const answer = await ask('pm_getPaymasterStubData', fields, { ...context, signingPhase: 'commit' });
      const final = await finalized(await commit(context, form), context);
      expect(resultOf(answer)['paymasterData']).toHaveLength(String(final['paymasterData']).length);
      expect(resultOf(answer)['paymasterSignature']).toBe(form === 'field' ? placeholder : undefined);
    });
  },
);

describe.each([
  { mode: 'SPONSORED', context: {} },
  { mode: 'ERC20', context: inTokens },
])('When the signing key is rotated, mode $mode', ({ mode, context }) => {
  const signerOf = (final: Fields): string => {
    const paymasterAndData = withSignature(final, 'field', signatureOf(final, 'field'));
    const answer = { paymasterAndData, callGasLimit: 100_000n, verificationGasLimit: 200_000n };
    const verify = mode === 'ERC20' ? verifyTokenPayment : verifySponsorship;
    return verify(anOperation({ sender }), { ...answer, preVerificationGas: 60_000n }, version).signer;
  };

  test('a commit is finalized with the new key, over the data of the commit', async () => {
    const committed = await commit(context);
    await host.putChain(aChain({ acceptedSigners: ['next.key'] }));
    const final = await finalized(committed, context);
    expect(signerOf(final)).toBe(nextSignerAddress);
    expect(dataOf(final, 'field')).toBe(dataOf(committed, 'field'));
    expect(await finalized(committed, context)).toEqual(final);
    expect(await promises()).toEqual([mode]);
  });

  test('a finalize that is asked again answers the same promise, signed with the new key', async () => {
    const committed = await commit(context);
    const before = await finalized(committed, context);
    await host.putChain(aChain({ acceptedSigners: ['next.key'] }));
    const after = await finalized(committed, context);
    expect([before, after].map(signerOf)).toEqual([signerAddress, nextSignerAddress]);
    expect(dataOf(after, 'field')).toBe(dataOf(before, 'field'));
    expect(await promises()).toEqual([mode]);
  });

  test('nothing is promised while no accepted key is mounted, and the commit stays open', async () => {
    const committed = await commit(context);
    await host.putChain(aChain({ acceptedSigners: ['lost.key'] }));
    expect((await finalize(committed, context)).body.error?.data).toMatchObject({
      reason: 'SIGNER_MISSING',
      retryable: true,
    });
    expect(await promises()).toEqual([]);
    await host.putChain(aChain({ acceptedSigners: ['lost.key', 'next.key'] }));
    expect(signerOf(await finalized(committed, context))).toBe(nextSignerAddress);
    expect(await promises()).toEqual([mode]);
  });
});

test('both phases have a record with the hash of the operation as it will be mined; asking again has none', async () => {
  const committed = await commit({});
  const final = await finalized(committed, {});
  expect(await finalized(committed, {})).toEqual(final);
  const { namespace: organisation } = aPaymasterConfig();
  const range = { organisation, from: 0 as EpochMs, to: (host.clock.now() + 86_400_000) as EpochMs };
  const page = await host.ledger.decisions({ ...range, sender: toAddressKey(sender), limit: 10 });
  const records = page.decisions.map(({ decision }) => decision).toReversed();
  const op = parseUserOperation(anOperation({ sender }), '0.9');
  const mined = withSignature(final, 'field', signatureOf(final, 'field'));
  const target = { version: '0.9', entryPoint: entryPoint09.address, chainId: someChainId } as const;
  const hash = userOpHash(withLimits(op, op), mined, target);
  expect(hash).toBeDefined();
  expect(records.map(({ verdict, userOpHash: known }) => [verdict, known])).toEqual([
    ['committed', hash],
    ['sponsored', hash],
  ]);
});

describe('A finalize in mode ERC20', () => {
  test('signs the rate of its commit, for the key of now', async () => {
    const committed = await commit();
    host.world.price = () => priced(aPrice({ rate: 4_000_000_000n }));
    const final = await finalized(committed);
    const paymasterAndData = withSignature(final, 'field', signatureOf(final, 'field'));
    const limits = { callGasLimit: 100_000n, verificationGasLimit: 200_000n, preVerificationGas: 60_000n };
    expect(
      verifyTokenPayment(anOperation({ sender }), { paymasterAndData, ...limits }, version),
    ).toMatchObject({
      signer: signerAddress,
      token: usdx.address.toLowerCase(),
      rateWithPremium: 3_300_000_000n,
      validUntil: committed['validUntil'],
    });
  });

  test('simulates the payment once more, as its account has signed it, with the signature in the tail', async () => {
    await finalized(await commit());
    const [first, second] = checked;
    expect(checked).toHaveLength(2);
    expect(second).toMatchObject({ inTail: true, op: { signature } });
    expect(second?.terms).toEqual(first?.terms);
    expect({ ...second?.op, signature: first?.op.signature }).toEqual(first?.op);
  });

  type Row = {
    readonly name: string;
    readonly before?: () => Promise<unknown>;
    readonly change: () => unknown;
    readonly context?: object;
    readonly edit?: (fields: Fields) => Fields;
    readonly reason: string;
    /** Whether that costs the chain a simulation. */
    readonly isSimulated?: true;
  };
  const same = (): void => {};
  const profile = (change: Partial<ProfileConfig>) => () => host.putChain(aChain(change));
  const holdsAll = async (): Promise<void> => {
    await profile({ tokenSecured: true })();
    host.world.takeable = 10n ** 30n;
  };
  test.each<Row>([
    {
      name: 'the account has moved its tokens',
      change: () => {
        host.world.payment = () => Promise.resolve(refuse('TOKEN_BALANCE', 'it holds 0'));
      },
      reason: 'TOKEN_BALANCE',
      isSimulated: true,
    },
    {
      name: 'the account does not accept the signature',
      change: () => {
        host.world.account = () => Promise.resolve(refuse('ACCOUNT_VALIDATION_FAILED', 'AA24'));
      },
      reason: 'ACCOUNT_VALIDATION_FAILED',
      isSimulated: true,
    },
    {
      name: 'the price is stale',
      change: () => {
        const stale = { source: 'feed', reason: 'STALE', ageSeconds: 2, maxAgeSeconds: 1 } as const;
        host.world.price = () => refused(stale);
      },
      reason: 'FEE_TOKEN_UNSUPPORTED',
    },
    {
      name: 'the token was taken away',
      change: () => host.putChain({ ...aChain(), feeTokens: [eurx] }),
      reason: 'FEE_TOKEN_UNSUPPORTED',
    },
    {
      name: 'the premium has changed',
      change: () => host.putChain({ ...aChain(), feeTokens: [aFeeToken({ premiumPercentage: '11' })] }),
      reason: 'COMMIT_NOT_OPEN',
    },
    {
      name: 'the caps are lower',
      change: () => host.put({ gas: { maxFeePerGas: '1' } }),
      reason: 'FEE_TOO_HIGH',
    },
    { name: 'the paymaster is suspended', change: () => host.put({ suspended: true }), reason: 'SUSPENDED' },
    {
      name: 'another contract pays',
      change: profile({ token: addressOf(0xabc) }),
      reason: 'COMMIT_NOT_OPEN',
    },
    {
      name: 'the contract no longer takes tokens in validation',
      before: holdsAll,
      change: profile({}),
      reason: 'COMMIT_NOT_OPEN',
    },
    {
      name: 'only payments in validation are signed now, and the contract could take them',
      change: profile({ tokenSecured: true, requireAllowance: true }),
      reason: 'COMMIT_NOT_OPEN',
    },
    {
      name: 'only payments in validation are signed now, and the contract takes none',
      change: profile({ requireAllowance: true }),
      reason: 'TOKEN_ALLOWANCE_REQUIRED',
    },
    {
      name: 'the budget for losses is less than the operation could lose',
      change: profile({ tokenLossBudget: '0.0001' }),
      reason: 'TOKEN_EXPOSURE_FULL',
    },
    { name: 'its account has not paid for an operation', change: loseAnotherOne, reason: 'SENDER_BARRED' },
    {
      name: 'it names another token',
      change: same,
      context: { token: eurx.address },
      reason: 'COMMIT_NOT_OPEN',
    },
    { name: 'it asks for a sponsorship', change: same, context: {}, reason: 'COMMIT_NOT_OPEN' },
    {
      name: 'its rate was edited',
      change: same,
      edit: (fields) => edited(fields, 64),
      reason: 'COMMIT_NOT_OPEN',
    },
    {
      name: 'its rate was edited to 0',
      change: same,
      edit: (fields) => withRate(fields, 0n),
      reason: 'COMMIT_NOT_OPEN',
    },
    {
      name: 'its rate was edited to the largest one',
      change: same,
      edit: (fields) => withRate(fields, 2n ** 256n - 1n),
      reason: 'COMMIT_NOT_OPEN',
    },
    {
      name: 'its data were cut',
      change: same,
      edit: (fields) => ({ ...fields, paymasterData: String(fields['paymasterData']).slice(0, -2) }),
      reason: 'COMMIT_NOT_OPEN',
    },
    {
      name: 'its end was edited',
      change: same,
      edit: (fields) => edited(fields, 6),
      reason: 'COMMIT_NOT_OPEN',
    },
    {
      name: 'its demand of a payment in validation was edited away',
      before: holdsAll,
      change: same,
      edit: (fields) => edited(fields, 65, 0x80),
      reason: 'COMMIT_NOT_OPEN',
    },
    {
      name: 'its commit was made 60 seconds ago',
      change: () => {
        host.clock.advance(60_000);
      },
      reason: 'COMMIT_NOT_OPEN',
    },
  ])('is refused where $name: $reason', async ({ before, change, context, edit, reason, isSimulated }) => {
    await before?.();
    const committed = await commit();
    await change();
    const simulated = checked.length;
    const answer = await finalize(edit?.(committed) ?? committed, context);
    expect(answer.body.result).toBeUndefined();
    expect(answer.body.error?.data.reason).toBe(reason);
    if (isSimulated !== true) expect(checked).toHaveLength(simulated);
    expect(await promises()).toEqual([]);
  });

  test('for data of a sponsorship is refused', async () => {
    const committed = await commit({});
    expect((await finalize(committed, inTokens)).body.error?.data.reason).toBe('COMMIT_NOT_OPEN');
  });

  test('is not made in time: what its commit could lose is free for others again', async () => {
    // One operation costs 0.0011 coins at most.
    const fresh = await startRpc({ chain: aChain({ tokenLossBudget: '0.0015' }), paymaster: { version } });
    try {
      const commitOf = async (account: string): Promise<string | undefined> => {
        const context = { ...inTokens, signingPhase: 'commit' };
        const params = [anOperation({ sender: account }), entryPoint09.address, someChainId, context];
        return (await fresh.call('pm_getPaymasterData', params)).body.error?.data.reason;
      };
      expect(await commitOf(addressOf(1))).toBeUndefined();
      expect(await commitOf(addressOf(2))).toBe('TOKEN_EXPOSURE_FULL');
      fresh.clock.advance(60_000);
      // As the follower does in each of its rounds.
      expect(await fresh.usage.dropCommits(someChainId)).toBe(1);
      expect(await fresh.usage.reservations(someChainId)).toEqual([]);
      expect(await commitOf(addressOf(2))).toBeUndefined();
    } finally {
      await fresh.stop();
    }
  });

  test('of a payment in validation needs nothing of the budget for losses', async () => {
    await host.putChain(aChain({ tokenSecured: true, tokenLossBudget: '0.0001' }));
    host.world.takeable = 10n ** 30n;
    await finalized(await commit());
    expect(checked.map(({ terms }) => terms.inAdvance)).toEqual([true, true]);
  });
});

test('requireAccountSignature in mode ERC20: only a finalize signs', async () => {
  await host.put({ requireAccountSignature: true });
  for (const method of ['pm_getPaymasterData', 'pm_getPaymasterStubData', 'pm_sponsorUserOperation'])
    expect((await ask(method, {}, inTokens)).body.error?.data.reason).toBe('ACCOUNT_SIGNATURE_REQUIRED');
  const inPhases = { ...inTokens, mode: 'ERC20', signingPhase: 'commit' };
  resultOf(await ask('pm_getPaymasterStubData', {}, inPhases));
  expect(await explained({ ...inTokens, mode: 'ERC20' })).toMatchObject({
    sponsored: false,
    reason: 'ACCOUNT_SIGNATURE_REQUIRED',
  });
  expect(await explained(inPhases)).toMatchObject({ sponsored: true });
  await finalized(await commit());
});

test.each([
  ['singleton-0.8', 'params[3].signingPhase must be left out'],
  ['verifying-0.9', 'has no contract for mode ERC20'],
])('mode ERC20 of version %s: the error says that %s', async (name, text) => {
  await host.put({ version: name });
  const { entryPoint } = aTokenProfile(name);
  const context = { ...inTokens, signingPhase: 'commit' };
  const { body } = await ask('pm_getPaymasterData', {}, context, entryPoint);
  expect(body.error?.code).toBe(-32602);
  expect(body.error?.message).toContain(text);
});

/** The example chain, whose budget for losses none of these tests fills by accident. */
function aChain(change: Partial<ProfileConfig> = {}): Partial<ChainConfig> {
  const profiles = someVersions.map(aTokenProfile).map((profile) => ({
    ...profile,
    ...(profile.version === version ? { tokenLossBudget: '100', ...change } : {}),
  }));
  return { profiles, feeTokens: [usdx, eurx] };
}

function ask(
  method: string,
  fields: Fields,
  context: object,
  entryPoint: string = entryPoint09.address,
): Promise<RpcAnswer> {
  const operation = { ...anOperation({ sender }), ...fields };
  const isErc7677 = method !== 'pm_sponsorUserOperation';
  const place = isErc7677 ? [entryPoint, someChainId] : [entryPoint];
  return host.call(method, [operation, ...place, context]);
}

async function explained(mode: object): Promise<Fields> {
  const headers = { authToken: someToken };
  return resultOf(await host.call('pm_explainSponsorship', [anOperation({ sender }), mode], { headers }));
}

function resultOf({ body }: RpcAnswer): Fields {
  if (body.result === undefined) throw new Error(JSON.stringify(body.error));
  return body.result;
}

async function commit(context: object = inTokens, form: Form = 'field'): Promise<Fields> {
  const fields = askedFor(form, entryPoint09.address);
  return resultOf(await ask('pm_getPaymasterData', fields, { ...context, signingPhase: 'commit' }));
}

function finalize(committed: Fields, context: object = inTokens): Promise<RpcAnswer> {
  const fields = { ...committed, signature };
  return ask('pm_getPaymasterData', fields, { ...context, signingPhase: 'finalize' });
}

async function finalized(committed: Fields, context?: object): Promise<Fields> {
  return resultOf(await finalize(committed, context));
}

/** The modes of the promises to the sender of this test. */
async function promises(): Promise<readonly string[]> {
  const live = await host.usage.reservations(someChainId);
  return live
    .filter(({ key }) => key.sender === sender.toLowerCase())
    .flatMap((one) => one.promises.map(({ mode }) => mode));
}

/** An operation of another nonce key was mined and paid nothing. */
async function loseAnotherOne(): Promise<void> {
  const operation = anOperation({ sender, nonce: `0x${(1n << 64n).toString(16)}` });
  const context = { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } };
  const { body } = await host.call('pm_sponsorUserOperation', [operation, context]);
  expect(body.error).toBeUndefined();
  const live = await host.usage.reservations(someChainId);
  const mined = live.find(({ key }) => key.sender === sender.toLowerCase() && key.nonce > 0n);
  const contract = toAddressKey(aTokenProfile(version).token ?? zeroAddress);
  await settle(host, mined!.key, { contract, loss: 50_000 });
  checked = [];
}

/** `paymasterData` with another rate: its bytes 33 to 64. */
function withRate(fields: Fields, rate: bigint): Fields {
  const data = String(fields['paymasterData']);
  const word = rate.toString(16).padStart(64, '0');
  return { ...fields, paymasterData: `${data.slice(0, 2 + 2 * 33)}${word}${data.slice(2 + 2 * 65)}` };
}

/** `paymasterData` with other bits of one byte, counted behind the gas limits. */
function edited(fields: Fields, at: number, bits = 1): Fields {
  const data = String(fields['paymasterData']);
  const byte = Number.parseInt(data.slice(2 + 2 * at, 4 + 2 * at), 16) ^ bits;
  const text = byte.toString(16).padStart(2, '0');
  return { ...fields, paymasterData: `${data.slice(0, 2 + 2 * at)}${text}${data.slice(4 + 2 * at)}` };
}
