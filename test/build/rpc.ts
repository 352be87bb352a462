import { SigningKey, computeAddress, getBytes, hashMessage, recoverAddress } from 'ethers';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import { loadSigners } from '../../adapters/signer/signers.js';
import type { KeptPrices } from '../../adapters/price/prices.js';
import type { Chain, Chains } from '../../core/chain/chain.js';
import type { DataFeeReading } from '../../core/chain/data-fee/data-fees.js';
import type { Head } from '../../core/chain/heads.js';
import type { ChainConfig, ProfileConfig } from '../../core/config/chain-config.js';
import type { ConfigStore } from '../../core/config/config-store.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { DomainError } from '../../core/errors.js';
import type { Signers } from '../../core/paymaster/signer.js';
import { silentLogger, type Logger } from '../../core/log.js';
import { tokenAccountCall } from '../../core/paymaster/abi.js';
import type { SponsorshipTerms } from '../../core/paymaster/layout.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { priced, type PriceAnswer } from '../../core/pricing/price-source.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import { pass, type Verdict } from '../../core/refusal.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { PolicyHosts, HostOutcome, HostRequest } from '../../core/policy/policy-hosts.js';
import { toAddressKey } from '../../core/units/address.js';
import { bytesToHex, isHexBytes, type Hex } from '../../core/units/hex.js';
import type { EpochMs } from '../../core/units/time.js';
import { gweiFloor, parseEther } from '../../core/units/wei.js';
import type { AccountValidationRequest } from '../../core/userop/account-validation.js';
import type { Estimate, EstimateRequest } from '../../core/userop/estimator.js';
import { parseUserOperation } from '../../core/userop/parse.js';
import type { Holdings } from '../../core/paymaster/token-payment.js';
import type { TokenPaymentRequest } from '../../core/paymaster/token-payment-checker.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { createServer, type Server } from '../../server/server.js';
import {
  aChainConfig,
  aPaymasterConfig,
  aProfileConfig,
  someApiKey,
  someChainId,
  someFunding,
  someNow,
} from './configs.js';
import { aPrice, aTokenProfile, someTokenAccount, someTreasury } from './fee-tokens.js';
import { masterKeys } from './operator.js';
import type { WireOperation } from './operations.js';
import { worldsOfThisRun, type RpcWorld } from './world.js';

const signerKey = `0x${'5d'.repeat(32)}`;
export const signerAddress = computeAddress(new SigningKey(signerKey).publicKey);
/** Another key that is mounted, as `next.key`; no profile names it unless a test does. */
const nextSignerKey = `0x${'6e'.repeat(32)}`;
export const nextSignerAddress = computeAddress(new SigningKey(nextSignerKey).publicKey);

export type RpcAnswer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: RpcBody;
};
export type RpcBody = {
  readonly jsonrpc?: string;
  readonly id?: unknown;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data: { readonly reason: string; readonly requestId: string; readonly retryable: boolean };
  };
};

export type RpcOptions = {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly id?: unknown;
};

/** The rpc role on a real port over separate stores in this run's mode; chain and webhook hosts are fakes. */
export type RpcHost = {
  readonly origin: string;
  /** Address of health and metrics; the same unless `opsPort` asks for another port. */
  readonly opsOrigin: string;
  readonly server: Server;
  readonly configs: ConfigStore;
  readonly usage: UsageStore;
  /** What the server has recorded. */
  readonly ledger: RpcWorld['ledger'];
  readonly clock: { now(): EpochMs; advance(ms: number): void };
  readonly metrics: { render(): Promise<{ readonly body: string }> };
  /** The answers of the fakes; tests change them. */
  readonly world: World;
  put(overrides?: Partial<PaymasterConfig>): Promise<void>;
  putChain(overrides?: Partial<ChainConfig>): Promise<void>;
  /** A single call to the example paymaster. */
  call(method: string, params: unknown, options?: RpcOptions): Promise<RpcAnswer>;
  /** Any body, sent unchanged. */
  post(body: string | Uint8Array<ArrayBuffer>, options?: RpcOptions): Promise<RpcAnswer>;
  stop(): Promise<void>;
};

export type World = {
  head: Head | undefined;
  /** The last reading of the chain's data fee. */
  dataReading: DataFeeReading | undefined;
  estimate: (request: EstimateRequest) => Promise<Estimate>;
  /** The code of an account; no request may read one unless a test says so. */
  code: (address: string) => Promise<Hex>;
  webhook: (request: HostRequest) => Promise<readonly HostOutcome[]>;
  /** The current answer of a token's price source. */
  price: (token: FeeTokenSpec) => PriceAnswer;
  /** Whether the simulated payment succeeds. */
  payment: (request: TokenPaymentRequest) => Promise<Verdict>;
  /** Tokens that contracts could take from the account now, in base units. */
  takeable: bigint;
  /** What the account holds and allows. */
  holdings: () => Promise<Holdings>;
  /** Whether the account accepts its own signature. */
  account: (request: AccountValidationRequest) => Promise<Verdict>;
};

export type RpcHostOptions = {
  readonly paymaster?: Partial<PaymasterConfig>;
  readonly chain?: Partial<ChainConfig>;
  readonly log?: Logger;
  /** Default: `world.price`. */
  readonly prices?: KeptPrices;
  /** Ether in every deposit of the chain; undefined: never read. Default 100. */
  readonly deposit?: string | undefined;
  readonly trustedProxies?: number;
  /** 0 gives health and metrics a separate free port. */
  readonly opsPort?: number;
  /** Default: `world.webhook`. The caller stops it. */
  readonly webhooks?: Pick<PolicyHosts, 'call'>;
  /** Reach the bundlers of the chain. The caller stops them. Default: no request may ask one. */
  readonly bundlers?: () => Pick<Chains, 'get'>;
  /** Default: keys in this process. */
  readonly signers?: () => Promise<Signers>;
  /** Real parts instead of those of this world. The caller stops them. */
  readonly parts?: Partial<Parameters<typeof createServer>[0]>;
};

const keysInThisProcess = (): Promise<Signers> =>
  loadSigners({
    environment: { PAYMASTER_SIGNER_KEY_DEV_KEY: signerKey, PAYMASTER_SIGNER_KEY_NEXT_KEY: nextSignerKey },
    log: silentLogger,
  });

export async function startRpc(options: RpcHostOptions = {}): Promise<RpcHost> {
  let now = someNow;
  const clock = {
    now: () => now,
    advance: (ms: number) => {
      now = (now + ms) as EpochMs;
    },
  };
  const {
    configs,
    served,
    usage,
    records,
    ledger,
    stop: closeWorld,
  } = await worldsOfThisRun().openRpcWorld({ clock });
  const log = options.log ?? silentLogger;
  const world: World = {
    head: {
      number: 100,
      timestamp: now / 1000,
      baseFeePerGas: 1_000_000_000n,
      priorityFeePerGas: 1_000_000_000n,
      observedAt: now,
    },
    dataReading: undefined,
    estimate: () => Promise.reject(new DomainError('ESTIMATION_FAILED', 'AA13 initCode failed or OOG')),
    code: refuseCall,
    webhook: ({ policies }) => Promise.resolve(policies.map(() => ({ verdict: 'verified' }) as const)),
    price: () => priced(aPrice()),
    payment: () => Promise.resolve(pass),
    takeable: 0n,
    holdings: () => Promise.resolve({ balance: world.takeable, allowance: world.takeable }),
    account: () => Promise.resolve(pass),
  };
  const metrics = createMetrics({ process: false });
  const server = createServer({
    roles: ['rpc'],
    configs: served,
    usage,
    ledger: records,
    chains: {
      get: (endpoint) =>
        endpoint.lane === 'bundlers' && options.bundlers !== undefined
          ? options.bundlers().get(endpoint)
          : tokenAccountChain(world),
      stop: () => Promise.resolve(),
    },
    prices: options.prices ?? pricesOf(world),
    payments: {
      check: (request) => world.payment(request),
      ground: () => Promise.resolve({ block: 0, receivers: [] }),
      holdings: () => world.holdings(),
    },
    signers: await (options.signers ?? keysInThisProcess)(),
    webhooks: {
      call: (request) => options.webhooks?.call(request) ?? world.webhook(request),
      stop: () => Promise.resolve(),
    },
    webhookKeys: masterKeys,
    estimator: { estimate: (request) => world.estimate(request) },
    accounts: { validate: (request) => world.account(request) },
    heads: { get: () => world.head },
    dataFees: {
      get: () => world.dataReading,
      fault: () => undefined,
      start: () => {},
      stop: () => Promise.resolve(),
    },
    clock,
    log,
    metrics,
    ...(options.trustedProxies === undefined ? {} : { trustedProxies: options.trustedProxies }),
    ...options.parts,
  });
  const put = async (overrides: Partial<PaymasterConfig> = {}): Promise<void> => {
    await configs.putPaymaster(aPaymasterConfig({ ...options.paymaster, ...overrides }));
  };
  const putChain = async (overrides: Partial<ChainConfig> = {}): Promise<void> => {
    await configs.putChain(aChainConfig({ ...options.chain, ...overrides }));
  };
  const open = async (): ReturnType<Server['listen']> => {
    await putChain();
    await put();
    const profiles = aChainConfig(options.chain).profiles;
    await fund(usage, profiles, now, 'deposit' in options ? options.deposit : '100');
    return server.listen(0, '127.0.0.1', options.opsPort);
  };
  const stop = async (): Promise<void> => {
    await server.stop();
    await closeWorld();
  };
  const { port, opsPort } = await open().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const origin = `http://127.0.0.1:${port}`;
  const post: RpcHost['post'] = async (body, { path, headers } = {}) => {
    const response = await fetch(`${origin}${path ?? rpcPath()}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
  };

  return {
    origin,
    opsOrigin: `http://127.0.0.1:${opsPort}`,
    server,
    configs,
    usage,
    ledger,
    clock,
    metrics,
    world,
    put,
    putChain,
    post,
    call: (method, params, rest = {}) =>
      post(JSON.stringify({ jsonrpc: '2.0', id: rest.id ?? 1, method, params }), rest),
    stop,
  };
}

export function rpcPath(apiKey = someApiKey, chainId = someChainId, version = 'v1'): string {
  return `/api/${version}/${chainId}/${apiKey}`;
}

/** Gives every contract of the chain, and the example wallet and the token account in each, the same deposit. */
async function fund(
  usage: UsageStore,
  profiles: readonly ProfileConfig[],
  readAt: EpochMs,
  ether: string | undefined,
): Promise<void> {
  if (ether === undefined) return;
  const balance = gweiFloor(parseEther(ether));
  const reserved = gweiFloor(0n);
  for (const { sponsorship, token } of profiles)
    for (const [address, wallet] of [
      [sponsorship, someFunding],
      [token, someTokenAccount],
    ] as const) {
      if (address === undefined) continue;
      const contract = toAddressKey(address);
      const fundingAddress = toAddressKey(wallet);
      await usage.addBalance(someChainId, { contract, balance, reserved, readAt });
      await usage.addBalance(someChainId, { contract, fundingAddress, balance, reserved, readAt });
    }
}

/** Answers which account pays in token mode, which the service reads once, and codes of accounts; no request may call anything else. */
const tokenAccountChain = (world: Pick<World, 'code'>): Chain => ({
  chainId: refuseCall,
  block: refuseCall,
  call: ({ data }) =>
    data === tokenAccountCall
      ? Promise.resolve(`0x${'0'.repeat(24)}${someTokenAccount.slice(2).toLowerCase()}` as const)
      : refuseCall(),
  code: (address) => world.code(address),
  balance: refuseCall,
  logs: refuseCall,
  priorityFee: refuseCall,
  transaction: refuseCall,
  words: refuseCall,
  request: refuseCall,
  stop: () => Promise.resolve(),
});

function refuseCall(): Promise<never> {
  return Promise.reject(new Error('no request may ask the chain'));
}

/** Prices that are always warm. */
function pricesOf(world: Pick<World, 'price'>): KeptPrices {
  return {
    peek: (token) => world.price(token),
    get: (token) => Promise.resolve(world.price(token)),
    last: (token) => world.price(token),
    usdPerNative: () => undefined,
    start: () => {},
    stop: () => Promise.resolve(),
  };
}

export type VerifiedSponsorship = {
  readonly signer: string;
  readonly validUntil: number;
  readonly validAfter: number;
  readonly paymaster: string;
  readonly fundingAddress: string | undefined;
};

/** Decodes the data of a result and recovers who signed it over the operation with the limits of that same result. */
export function verifySponsorship(
  operation: WireOperation,
  result: Readonly<Record<string, unknown>> | undefined,
  version = '1.1.0',
): VerifiedSponsorship {
  const profile = aProfileConfig(version);
  const layout = layouts[profile.layout];
  const data = hexOf(packedData(result ?? {}));
  const decoded = layout.sponsorship.decode(data);
  const parsed = parseUserOperation(operation, layout.entryPointVersion);
  const op: FinalUserOperation = {
    ...parsed,
    callGasLimit: BigInt(String(result?.['callGasLimit'])),
    verificationGasLimit: BigInt(String(result?.['verificationGasLimit'])),
    preVerificationGas: BigInt(String(result?.['preVerificationGas'])),
  };
  const terms: SponsorshipTerms = {
    chainId: someChainId,
    paymaster: profile.sponsorship,
    fundingAddress: decoded.fundingAddress ?? toAddressKey(someFunding),
    validUntil: decoded.validUntil,
    validAfter: decoded.validAfter,
    options: {
      ...profile.options,
      ...(decoded.paymasterGas === undefined ? {} : { paymasterGas: decoded.paymasterGas }),
    },
  };
  const { digest } = layout.sponsorship.toSign(layout.sponsorship.hash(op, terms), op, terms);
  return {
    signer: recoverAddress(bytesToHex(digest), decoded.signature),
    validUntil: decoded.validUntil,
    validAfter: decoded.validAfter,
    paymaster: decoded.paymaster,
    fundingAddress: decoded.fundingAddress,
  };
}

/** `paymasterAndData` of an answer, also where it has the fields of EntryPoint 0.7 instead. */
export function packedData(result: Readonly<Record<string, unknown>>): unknown {
  if (result['paymasterAndData'] !== undefined) return result['paymasterAndData'];
  const word = (value: unknown): string => BigInt(String(value)).toString(16).padStart(32, '0');
  return (
    `${String(result['paymaster'])}${word(result['paymasterVerificationGasLimit'])}` +
    `${word(result['paymasterPostOpGasLimit'])}${String(result['paymasterData']).slice(2)}`
  );
}

function hexOf(value: unknown): Hex {
  if (!isHexBytes(value)) throw new Error(`expected hex bytes, got ${JSON.stringify(value)}`);
  return value;
}

export type VerifiedTokenPayment = {
  readonly signer: string;
  readonly paymaster: string;
  readonly token: string;
  /** Premium included. */
  readonly rateWithPremium: bigint;
  readonly validUntil: number;
  readonly validAfter: number;
};

/** Decodes the token data of a result and recovers who signed it over the operation with the limits of that same result. */
export function verifyTokenPayment(
  operation: WireOperation,
  result: Readonly<Record<string, unknown>> | undefined,
  version = '1.1.0',
): VerifiedTokenPayment {
  const profile = aTokenProfile(version);
  const layout = layouts[profile.layout];
  const codec = layout.token;
  if (codec === undefined || profile.token === undefined) throw new Error(`${version} has no token mode`);
  const decoded = codec.decode(hexOf(packedData(result ?? {})));
  const { exchangeRate, priceMarkup = 1_000_000, validUntil, validAfter } = decoded;
  const op: FinalUserOperation = {
    ...parseUserOperation(operation, layout.entryPointVersion),
    callGasLimit: BigInt(String(result?.['callGasLimit'])),
    verificationGasLimit: BigInt(String(result?.['verificationGasLimit'])),
    preVerificationGas: BigInt(String(result?.['preVerificationGas'])),
  };
  const hash = codec.hash(op, {
    chainId: someChainId,
    paymaster: profile.token,
    token: decoded.token,
    exchangeRate,
    priceMarkup,
    validUntil,
    validAfter,
    options: { treasury: someTreasury },
  });
  return {
    signer: recoverAddress(hashMessage(getBytes(bytesToHex(hash))), decoded.signature),
    paymaster: decoded.paymaster,
    token: decoded.token,
    rateWithPremium: (exchangeRate * BigInt(priceMarkup)) / 1_000_000n,
    validUntil,
    validAfter,
  };
}
