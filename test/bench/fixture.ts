/**
 * Shared by every server of the bench: one chain, one contract, one signer, and the requests. All values belong to the
 * bench alone; the key is a public test key.
 */
export const chainId = 31337;
export const entryPoint = '0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789';
export const paymaster = '0x00000f79B7FaF42EEBAdbA19aCc07cD08Af44789';
export const fundingAddress = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
export const sponsoredContract = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
/** `store(uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256)`: an inner call of 260 bytes. */
export const sponsoredMethod = 'store';
export const sponsoredAbi =
  '[{"type":"function","name":"store","stateMutability":"nonpayable","outputs":[],"inputs":[' +
  Array.from({ length: 8 }, (_, index) => `{"name":"v${index}","type":"uint256"}`).join(',') +
  ']}]';
export const signerKey = '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a';
/** A second key, at a remote signer that behaves so. */
export const remoteKey = '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6';
export const remoteSigner = { delayMs: 30, perSecond: 200 } as const;
export const expirySeconds = 300;

/** The apiKey of the n-th paymaster: the shape of real ones, all of one length. */
export function apiKeyOf(index: number): string {
  const digits = index.toString(16).padStart(12, '0');
  return `bench-key.00000000-0000-4000-8000-${digits}`;
}

/** The funding wallet of the n-th paymaster: its own, unless the paymasters of a run share one. */
export function walletOf(index: number, wallets: Wallets): string {
  return wallets === 'shared' ? fundingAddress : `0x${(index + 1).toString(16).padStart(40, '5')}`;
}

const walletKinds = ['own', 'shared'] as const;
export type Wallets = (typeof walletKinds)[number];

/** How the requests of a window are made. */
export type RequestShape = {
  /** Inner calls per operation: 1 is `execute`, more are `executeBatch`. */
  readonly calls: number;
  /** Requests are spread evenly over this many paymasters, in turn. */
  readonly paymasters: number;
  /** The first of them; default 0. */
  readonly first?: number;
  /** Default `sponsorship`. */
  readonly ask?: Ask;
};

const asks = [
  'sponsorship',
  'another contract',
  'quote of 1 token',
  'quote of 20 tokens',
  'token payment',
] as const;
export type Ask = (typeof asks)[number];

/** The reason of the refusal that `another contract` asks for. */
export const refusalReason = 'CONTRACT_NOT_REGISTERED';

/** Address of the n-th fee token. */
export function feeTokenOf(index: number): string {
  return `0x${(index + 1).toString(16).padStart(40, '7')}`;
}
