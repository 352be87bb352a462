import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { noPolicies } from '../../core/policy/derived.js';
import { DomainError } from '../../core/errors.js';
import type { Signer } from '../../core/paymaster/signer.js';
import type { Address } from '../../core/units/address.js';
import { hexQuantity, hexWord } from '../../core/units/hex.js';
import type { Clock } from '../../core/units/time.js';
import type { RpcMethod } from './method.js';
import { pm_sponsorUserOperation } from './pm_sponsorUserOperation.js';
import type { ServedChain, ServedProfile } from '../view/served-chain.js';
import { servePaymaster, type ServedPaymaster } from '../view/served-paymaster.js';
import { createSharing } from '../view/sharing.js';
import type { SigningBatch } from '../decision/sign/signing-batch.js';
import { createSponsor } from '../decision/sign/sign.js';
import { sponsoredMode } from '../decision/steps/sponsored.js';

/** Enough rounds for the engine to compile the path: after them, a request costs as much as the thousandth. */
const rounds = 128;

/**
 * Runs dummy operations through the real path (parsing, rules, encoding, signing with the real key, rendering) for
 * every profile, so that no client has to wait for the slow first calls. The operations name chain 0, on which no
 * contract is deployed, so the signatures are worthless. They do not leave this function, and no store records them.
 * A signer that can be in trouble is not asked: the start must not wait for it, and its signatures may cost money.
 */
export async function warmUp(
  chains: Iterable<ServedChain>,
  { signing, clock }: { readonly signing: SigningBatch; readonly clock: Clock },
): Promise<void> {
  const profiles = [...chains].flatMap((chain) =>
    [...chain.profiles.values()]
      .filter((profile) => profile.signer() !== undefined)
      .map((profile) => ({ chain, profile })),
  );
  for (const { chain, profile } of profiles) {
    const method = dummyMethod(chain, signing, clock);
    const paymaster = dummyPaymaster(profile);
    const each = Math.max(16, Math.ceil(rounds / profiles.length));
    for (let round = 0; round < each; round += 1)
      await method.handle(dummyParams(profile.contract, round), {
        requestId: 'warm-up',
        callerRequestId: undefined,
        method: 'pm_sponsorUserOperation',
        paymaster,
        credential: undefined,
        pass: undefined,
      });
  }
}

function dummyMethod(served: ServedChain, signing: SigningBatch, clock: Clock): RpcMethod {
  const profiles = new Map(
    Array.from(served.profiles, ([version, profile]) => [
      version,
      { ...profile, signer: () => createStandIn(profile) },
    ]),
  );
  const chain: ServedChain = {
    ...served,
    profiles,
    chainId: 0,
    suspended: false,
  };
  const view = {
    chain: () => chain,
    isStale: () => false,
    addressList: () => undefined,
    refresh: () => Promise.resolve(undefined),
    isCurrent: () => true,
  };
  const heads = {
    get: () => ({
      number: 0,
      timestamp: Math.floor(clock.now() / 1000),
      baseFeePerGas: 0n,
      priorityFeePerGas: 0n,
      observedAt: clock.now(),
    }),
  };
  const dataFees = { get: () => undefined };
  const prices = { peek: () => undefined };
  const usage = {
    reserve: () => Promise.resolve({ outcome: 'reserved' } as const),
    peek: () => notAsked(),
    now: () => clock.now(),
    capacity: () => Number.POSITIVE_INFINITY,
  };
  const estimator = { estimate: () => notAsked() };
  const hosts = { call: () => notAsked() };
  const delegates = { of: () => notAsked() };
  const sponsor = createSponsor(
    { view, usage, signing, clock },
    sponsoredMode({ view, heads, dataFees, prices, usage, estimator, delegates, hosts, clock }),
  );
  return pm_sponsorUserOperation({ view, sponsor, payInTokens: () => notAsked() });
}

function createStandIn(profile: ServedProfile): Signer | undefined {
  const signer = profile.signer();
  if (signer?.trouble === undefined) return signer;
  const signature = new Uint8Array(65).fill(27);
  const sign: Signer['sign'] = (items) => items.map(() => ({ outcome: 'signed', signature }));
  return { address: signer.address, implementation: 'warm-up', sign };
}

function notAsked(): never {
  throw new DomainError('INTERNAL', 'a dummy operation needs no help');
}

function dummyPaymaster(profile: ServedProfile): ServedPaymaster {
  const { contract } = profile;
  const config: PaymasterConfig = {
    paymasterId: 'warm-up',
    namespace: 'warm-up',
    objectName: 'warm-up',
    name: 'warm-up',
    chainId: 0,
    version: profile.version,
    configGeneration: 1,
    suspended: false,
    keys: [],
    tokens: [],
    fundingAddress: contract,
    defaultContractAction: 'Deny',
    contractsRegistered: true,
    contracts: [{ name: 'warm-up', address: contract, selectors: [selector] }],
    ...noPolicies,
    invalidPolicies: [],
    gas: {},
    maxExpirySeconds: 7200,
  };
  return servePaymaster(config, createSharing());
}

const selector = '0xa9059cbb';

/** `execute(address,uint256,bytes)` with one call to the contract; each round makes a different operation. */
function dummyParams(contract: Address, round: number): readonly unknown[] {
  const callData =
    `0xb61d27f6${contract.slice(2).toLowerCase().padStart(64, '0')}${hexWord(0)}${hexWord(96)}${hexWord(68)}` +
    `${selector.slice(2)}${hexWord(round)}${hexWord(1)}`.padEnd(192, '0');
  const operation = {
    sender: `0x${(round + 1).toString(16).padStart(40, '0')}`,
    nonce: hexQuantity(round),
    initCode: '0x',
    callData,
    callGasLimit: '100000',
    verificationGasLimit: '200000',
    preVerificationGas: '60000',
    maxFeePerGas: '0x77359400',
    maxPriorityFeePerGas: '0x3b9aca00',
    signature: '0x',
  };
  return [operation, { mode: 'SPONSORED', calculateGasLimits: false }];
}
