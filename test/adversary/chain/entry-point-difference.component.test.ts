import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { getBytes, Wallet } from 'ethers';
import fc from 'fast-check';
import type { TokenTerms } from '../../../core/paymaster/layout.js';
import { signatureToTail } from '../../../core/paymaster/tail.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { toAddressKey, type AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { paymasterSignatureMagic } from '../../../core/entry-point/paymaster-signature.js';
import { anAddress } from '../../conformance/usage-requests.js';
import { startDevChain, type DevChain } from '../../chain/support/dev-chain.js';
import { deployOpenZeppelin } from '../../chain/support/open-zeppelin.js';
import { isSoak } from '../../support/soak-seconds.js';
import { runs } from '../../support/property.js';
import { contractsOf, pairedChain, type DevContract } from './dev-contracts.js';
import { possible } from './delivery.js';
import { nonceName } from './entry-point.js';
import type { AccountCall, BundledOperation, ChainAction, Delivery, OperationTerms } from './operations.js';
import { prefundOf } from './operations.js';
import { callDataOf } from './real-chain.js';
import type { PairedChain } from './paired-chain.js';

type Draft = {
  readonly contract: number;
  readonly sender: number;
  readonly key: number;
  readonly nonceOff: number;
  readonly isToken: boolean;
  readonly wallet: number;
  readonly expiresIn: number;
  readonly isSigned: boolean;
  readonly call: 'nothing' | 'fail' | 'approve' | 'revoke' | 'send';
  readonly size: 'usual' | 'deposit' | 'above-deposit';
  readonly feeGwei: number;
  readonly tipGwei: number;
  readonly markup: number;
  /** A singleton whose profile takes tokens in validation. */
  readonly isPreFunded: boolean;
  /** EntryPoint 0.9: the signature is in the tail. */
  readonly isInTail: boolean;
};
type Step =
  | { readonly do: 'bundle'; readonly drafts: readonly Draft[]; readonly delivery: Delivery }
  | {
      readonly do: 'deposit' | 'withdraw';
      readonly contract: number;
      readonly wallet: number;
      readonly part: number;
    }
  | { readonly do: 'spend-nonce'; readonly contract: number; readonly sender: number; readonly key: number }
  | {
      readonly do: 'mint' | 'approve' | 'revoke' | 'send';
      readonly contract: number;
      readonly sender: number;
    }
  | { readonly do: 'pass'; readonly seconds: number }
  | { readonly do: 'reorganise'; readonly depth: number };

const often = <T>(usual: T, other: fc.Arbitrary<T>, weight = 8): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
/** Layouts of the dev chain, and two contracts of OpenZeppelin. */
const contract = fc.nat(9);
const place = { contract, sender: fc.nat(2) };
const draft: fc.Arbitrary<Draft> = fc.record({
  contract,
  sender: fc.nat(2),
  key: fc.nat(1),
  nonceOff: often(0, fc.constantFrom(-1, 1)),
  isToken: fc.boolean(),
  wallet: fc.nat(2),
  expiresIn: often(100, fc.integer({ min: -1, max: 1 }), 6),
  isSigned: often(true, fc.constant(false), 12),
  call: fc.constantFrom('nothing', 'fail', 'approve', 'revoke', 'send'),
  size: often<Draft['size']>('usual', fc.constantFrom('deposit', 'above-deposit'), 12),
  feeGwei: fc.integer({ min: 3, max: 90 }),
  // Not 0: at a price of a few wei contracts round the tokens due down to 0.
  tipGwei: fc.integer({ min: 1, max: 90 }),
  markup: fc.constantFrom(1_000_000, 1_200_000, 2_000_000),
  isPreFunded: fc.boolean(),
  isInTail: fc.boolean(),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('bundle'),
      drafts: fc.array(draft, { minLength: 1, maxLength: 3 }),
      delivery: fc.record({
        way: often<Delivery['way']>('direct', fc.constantFrom('relay', 'wrapped'), 2),
        // A second of the node each.
        fat: often<Delivery['fat']>('nothing', fc.constant('receipt'), 60),
      }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('deposit', 'withdraw'),
      contract,
      wallet: fc.nat(2),
      part: fc.integer({ min: 1, max: 101 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('spend-nonce'), key: fc.nat(1), ...place }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('mint', 'approve', 'revoke', 'send'), ...place }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pass'), seconds: fc.integer({ min: 1, max: 200 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('reorganise'), depth: fc.integer({ min: 1, max: 6 }) }),
  },
);

const senders = [0x5e01, 0x5e02, 0x5e03].map(anAddress);
const unfunded = anAddress(0xdead1);
const manyTokens = 10n ** 40n;
const unlimited = (1n << 256n) - 1n;
const rate = 3_000_000_000n;
/** A key that no contract trusts. */
const stranger = new Wallet(`0x${'11'.repeat(32)}`);

let dev: DevChain;
let contracts: readonly DevContract[];
let chain: PairedChain;
let begin: { readonly real: number; readonly model: number };
beforeAll(async () => {
  dev = await startDevChain();
  const openZeppelin = await deployOpenZeppelin(dev, ['openzeppelin-0.9', 'openzeppelin-0.9 with tail']);
  contracts = contractsOf(dev, [...openZeppelin.values()]);
  chain = await pairedChain(dev, contracts, senders, [unfunded]);
  // The first account has allowed everything, the others have nothing.
  const sender = senders[0]!;
  await chain.mine({ do: 'mint', sender, amount: manyTokens }, chain.model.time + 1);
  for (const { address } of contracts) {
    const call = callOf('approve', sender, address);
    await chain.mine({ do: 'tokens', sender, call }, chain.model.time + 1);
  }
  begin = { real: chain.real.height, model: chain.model.height };
});
afterAll(() => dev.stop());

test('the model predicts the four EntryPoints for bundles, payments, allowances, transfers and reorganisations', async () => {
  const outcomes = new Map<string, number>();
  const steps = fc.array(step, { minLength: 20, maxLength: 60, size: 'max' });
  await fc.assert(
    fc.asyncProperty(steps, async (chosen) => {
      await chain.real.reorganise(begin.real);
      chain.model.reorganise(begin.model);
      for (const one of chosen) await take(one, outcomes);
    }),
    { ...runs(isSoak ? 350 : 24), endOnFailure: true },
  );
  expect(chain.steps).toBeGreaterThan(isSoak ? 9_000 : 700);
  // The series contains every case that it is meant to test.
  const names = [
    'AA25',
    'AA31',
    'AA32',
    'AA33',
    'AA34',
    'sponsored',
    'paid',
    'unpaid',
    'paid in advance',
    'call failed',
    'signed in the tail',
    'refused in the tail',
    'relay 0.6',
    'relay 0.7',
    'wrapped 0.6',
    'wrapped 0.7',
    'wrapped 0.8',
    'wrapped 0.9',
    'fat receipt',
  ];
  for (const name of names)
    expect([name, (outcomes.get(name) ?? 0) >= (isSoak ? 5 : 1)]).toEqual([name, true]);
}, 600_000);

async function take(one: Step, outcomes: Map<string, number>): Promise<void> {
  const count = (name: string) => outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
  const time = chain.model.time + 1;
  switch (one.do) {
    case 'pass':
      return chain.mineEmpty(chain.model.time + one.seconds);
    case 'reorganise': {
      const depth = Math.min(one.depth, chain.model.height - begin.model);
      return chain.reorganise(depth);
    }
    default: {
      const action = actionOf(one, time);
      if (action === undefined) return;
      const result = await chain.mine(action, time);
      if (action.do === 'bundle' && result.outcome === 'done') {
        const version = versionOf(action.entryPoint);
        const { way, fat } = possible(action.delivery!, version);
        count(`${way} ${version}`);
        count(`fat ${fat}`);
      }
      const inTail =
        action.do === 'bundle' &&
        action.operations.some(({ paymasterAndData }) => isInTail(paymasterAndData));
      if (inTail) count(result.outcome === 'failed' ? 'refused in the tail' : 'signed in the tail');
      if (result.outcome === 'failed') count(result.code);
      else
        for (const { operation, tokens, success } of result.operations) {
          count(operation.terms.mode === 'SPONSORED' ? 'sponsored' : tokens === 0n ? 'unpaid' : 'paid');
          if ((operation.terms.preFund ?? 0n) > 0n) count(tokens === 0n ? 'kept' : 'paid in advance');
          if (!success) count('call failed');
        }
    }
  }
}

function actionOf(one: Exclude<Step, { do: 'pass' | 'reorganise' }>, time: number): ChainAction | undefined {
  if (one.do === 'bundle') {
    const { entryPoint } = contracts[one.drafts[0]!.contract]!;
    // One EntryPoint per bundle; each operation has the next sequence of its nonce key.
    const used = new Map<string, bigint>();
    const operations = one.drafts
      .filter((each) => contracts[each.contract]!.entryPoint === entryPoint)
      .map((each) => operationOf(each, time, used));
    return { do: 'bundle', entryPoint, operations, delivery: one.delivery };
  }
  const spec = contracts[one.contract]!;
  const contract = spec.address;
  switch (one.do) {
    case 'deposit':
      return {
        do: 'deposit',
        contract,
        ...(spec.kind === 'hybrid' ? { wallet: walletOf(one.wallet) } : {}),
        amount: BigInt(one.part) * 10n ** 19n,
      };
    case 'withdraw': {
      if (spec.kind !== 'hybrid') return undefined;
      const wallet = walletOf(one.wallet);
      const held = chain.model.state().wallets.get(`${contract}/${wallet}`) ?? 0n;
      // Up to everything, and one wei too much.
      const amount = one.part > 100 ? held + 1n : (held * BigInt(one.part)) / 100n;
      return amount === 0n ? undefined : { do: 'withdraw', contract, wallet, amount };
    }
    case 'spend-nonce':
      return {
        do: 'spend-nonce',
        entryPoint: spec.entryPoint,
        sender: senders[one.sender]!,
        key: BigInt(one.key),
      };
    case 'mint':
      return { do: 'mint', sender: senders[one.sender]!, amount: manyTokens };
    case 'approve':
    case 'revoke':
    case 'send':
      return {
        do: 'tokens',
        sender: senders[one.sender]!,
        call: callOf(one.do, senders[one.sender]!, contract),
      };
  }
}

function operationOf(one: Draft, time: number, used: Map<string, bigint>): BundledOperation {
  const { profile, address: contract, entryPoint, version } = contracts[one.contract]!;
  const sender = senders[one.sender]!;
  const key = BigInt(one.key);
  const name = nonceName(entryPoint, sender, key << 64n);
  const sequence = used.get(name) ?? chain.model.state().nonces.get(name) ?? 0n;
  used.set(name, sequence + 1n);
  const off = sequence + BigInt(one.nonceOff);
  const call = callOf(one.call, sender, contract);
  const op: FinalUserOperation = {
    sender,
    nonce: (key << 64n) | (off < 0n ? 0n : off),
    initCode: '0x',
    callData: callDataOf(call, {
      feeToken: dev.deployments.feeToken.address,
      counter: dev.deployments.sponsoredContract.address,
    }),
    callGasLimit: 200_000n,
    verificationGasLimit: 200_000n,
    preVerificationGas: 60_000n,
    maxFeePerGas: BigInt(one.feeGwei) * 10n ** 9n,
    maxPriorityFeePerGas: BigInt(Math.min(one.feeGwei, one.tipGwei)) * 10n ** 9n,
    signature: '0x',
  };
  const isToken = one.isToken && profile.token !== undefined;
  const signed = signedBy(one, op, isToken, time);
  if (one.size === 'usual') return { ...signed, contract, call };
  // The prefund is as close to the deposit as the fee allows, on either side of it.
  const deposit = chain.model.state().deposits.get(contract) ?? 0n;
  const rest = deposit - prefundOf({ ...signed, contract, call }, version);
  const more = rest / op.maxFeePerGas + (one.size === 'above-deposit' ? 1n : 0n);
  const sized = { ...op, preVerificationGas: op.preVerificationGas + (more > 0n ? more : 0n) };
  return { ...signedBy(one, sized, isToken, time), contract, call };
}

function signedBy(one: Draft, op: FinalUserOperation, isToken: boolean, time: number) {
  const signed = isToken ? tokenDataOf(one, op, time) : sponsoredDataOf(one, op, time);
  const { layout, options } = contracts[one.contract]!.profile;
  const { entryPointVersion, readsTail } = layouts[layout];
  if (!one.isInTail || entryPointVersion !== '0.9') return { op, isSigned: one.isSigned, ...signed };
  return {
    op,
    ...signed,
    paymasterAndData: signatureToTail(signed.paymasterAndData),
    isSigned: one.isSigned && readsTail(options),
  };
}

type Signed = { readonly paymasterAndData: Hex; readonly terms: OperationTerms };

function sponsoredDataOf(one: Draft, op: FinalUserOperation, time: number): Signed {
  const { profile } = contracts[one.contract]!;
  const { unaccountedGas = 0, openZeppelin } = profile.options;
  const hasMarkup = profile.layout === 'vendor-2.x' || profile.layout === 'hybrid-0.9';
  const fundingAddress = walletOf(one.wallet);
  const sponsored = {
    ...placeOf(one, time),
    fundingAddress,
    options: {
      priceMarkup: hasMarkup ? one.markup : 1_000_000,
      unaccountedGas,
      ...(openZeppelin === undefined ? {} : { openZeppelin }),
    },
  };
  const codec = layouts[profile.layout].sponsorship;
  const signature = sign(one, codec.toSign(codec.hash(op, sponsored), op, sponsored).digest);
  const { validUntil, options } = sponsored;
  return {
    paymasterAndData: codec.encode(op, sponsored, signature),
    terms: { mode: 'SPONSORED', fundingAddress, validUntil, markup: BigInt(options.priceMarkup), rate },
  };
}

function tokenDataOf(one: Draft, op: FinalUserOperation, time: number): Signed {
  const { profile } = contracts[one.contract]!;
  const { treasury } = profile.options;
  const isPreFunded = one.isPreFunded && profile.layout.startsWith('singleton');
  const tokenTerms: TokenTerms = {
    ...placeOf(one, time),
    ...(isPreFunded ? { inAdvance: true as const } : {}),
    token: toAddressKey(dev.deployments.feeToken.address),
    exchangeRate: rate,
    priceMarkup: one.markup,
    options: {
      ...(treasury === undefined ? {} : { treasury }),
      ...(isPreFunded ? { takesPreFund: true as const } : {}),
    },
  };
  const codec = layouts[profile.layout].token!;
  const signature = sign(one, codec.toSign(codec.hash(op, tokenTerms), op, tokenTerms).digest);
  const paymasterAndData = codec.encode(op, tokenTerms, signature);
  const { preFund } = codec.decode(paymasterAndData);
  const { validUntil } = tokenTerms;
  return {
    paymasterAndData,
    terms: {
      mode: 'ERC20',
      validUntil,
      markup: BigInt(one.markup),
      rate,
      ...(preFund === undefined || preFund === 0n ? {} : { preFund }),
    },
  };
}

function placeOf(one: Draft, time: number) {
  const { sponsorship: paymaster } = contracts[one.contract]!.profile;
  return { chainId: dev.chainId, paymaster, validUntil: time + one.expiresIn, validAfter: 0 };
}

function sign({ isSigned }: Draft, digest: Uint8Array): Uint8Array {
  const { signingKey } = isSigned ? dev.sponsorSigner : stranger;
  return getBytes(signingKey.sign(digest).serialized);
}

function isInTail(paymasterAndData: Hex): boolean {
  return paymasterAndData.endsWith(paymasterSignatureMagic.slice(2));
}

function callOf(kind: Draft['call'], sender: AddressKey, contract: AddressKey): AccountCall {
  switch (kind) {
    case 'nothing':
    case 'fail':
      return { kind };
    case 'approve':
      return { kind: 'approve', contract, amount: unlimited };
    case 'revoke':
      return { kind: 'approve', contract, amount: 0n };
    case 'send':
      return { kind: 'send', amount: chain.model.state().tokens.get(sender) ?? 0n };
  }
}

function versionOf(entryPoint: AddressKey): DevContract['version'] {
  return contracts.find((one) => one.entryPoint === entryPoint)!.version;
}

/** Two wallets that the dev chain funds, and one that never had anything. */
function walletOf(index: number): AddressKey {
  const { defaultFunding, treasury } = dev.deployments;
  return [toAddressKey(defaultFunding), toAddressKey(treasury), unfunded][index]!;
}
