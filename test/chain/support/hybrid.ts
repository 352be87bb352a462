import { AbiCoder, Interface, getBytes } from 'ethers';
import { userOperation06, userOperation06Values } from '../../../core/entry-point/unpacked.js';
import { userOperation07, userOperation07Values } from '../../../core/entry-point/packed.js';
import type { Log } from '../../../core/chain/chain.js';
import type { Address } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import type { DevProfile } from '../../../standalone/dev-chain/paymaster-contracts.js';
import { asHex, encodeWith } from './account.js';
import type { DevChain } from './dev-chain.js';

export const hybridAbi = new Interface([
  'function depositFor(address paymasterId) payable',
  'function withdrawTo(address to, uint256 amount)',
  'function setSigner(address signer)',
  'function addStake(uint32 unstakeDelaySec) payable',
  'function unlockStake()',
  'function withdrawStake(address to)',
  'function verifyingSigner() view returns (address)',
  'function unaccountedGas() view returns (uint256)',
  'function unaccountedTokenGas() view returns (uint256)',
  'function entryPoint() view returns (address)',
  'function owner() view returns (address)',
  'function tokenAccount() view returns (address)',
  'function minDeposit() view returns (uint256)',
  'event PaidGasInTokens(address indexed sender, address indexed token, uint256 gasCost, uint256 tokenCharge, uint32 markup, uint256 rate, bytes32 userOpHash)',
  'event TokensOwed(address indexed sender, address indexed token, uint256 owed, uint256 due, bytes32 userOpHash)',
]);
export const tokenAbi = new Interface([
  'function mint(address to, uint256 amount)',
  'function approve(address spender, uint256 amount) returns (bool)',
  'function balanceOf(address account) view returns (uint256)',
]);
const deducted06 = new Interface([
  'event GasBalanceDeducted(address indexed paymasterId, uint256 indexed charge)',
]);
const deducted07 = new Interface([
  'event GasBalanceDeducted(address indexed paymasterId, uint256 indexed charge, uint256 indexed premium)',
]);

export type TokenTerms = {
  readonly validUntil: number;
  readonly validAfter: number;
  readonly token: Address;
  /** Token base units per 1e18 wei. */
  readonly rate: bigint;
  readonly markup: number;
};

/** Charges that our contracts report in these logs, in order. */
export function chargesIn(
  logs: readonly Pick<Log, 'topics' | 'data'>[],
): readonly { payer: string; charge: bigint; premium: bigint }[] {
  return logs.flatMap(({ topics, data }) => {
    const [topic] = topics;
    const abi = [deducted06, deducted07].find(
      (each) => each.getEvent('GasBalanceDeducted')?.topicHash === topic,
    );
    if (abi === undefined) return [];
    const { paymasterId, charge, premium } = abi
      .decodeEventLog('GasBalanceDeducted', data, topics)
      .toObject();
    return [{ payer: String(paymasterId), charge: BigInt(charge), premium: BigInt(premium ?? 0) }];
  });
}

export function tokenPaymentsIn(logs: readonly Log[]): readonly { tokenCharge: bigint; gasCost: bigint }[] {
  return logs.flatMap(({ topics, data }) => {
    if (topics[0] !== hybridAbi.getEvent('PaidGasInTokens')?.topicHash) return [];
    const { tokenCharge, gasCost } = hybridAbi.decodeEventLog('PaidGasInTokens', data, topics).toObject();
    return [{ tokenCharge: BigInt(tokenCharge), gasCost: BigInt(gasCost) }];
  });
}

/** What accounts have left unpaid by these logs, in order. */
export function owedIn(
  logs: readonly Pick<Log, 'topics' | 'data'>[],
): readonly { readonly owed: bigint; readonly due: bigint }[] {
  return logs.flatMap(({ topics, data }) => {
    if (topics[0] !== hybridAbi.getEvent('TokensOwed')?.topicHash) return [];
    const { owed, due } = hybridAbi.decodeEventLog('TokensOwed', data, topics).toObject();
    return [{ owed: BigInt(owed), due: BigInt(due) }];
  });
}

/** Token-mode data, hashed by the contract's own getHash and signed by the sponsor's signer. */
export async function signTokenPayment(
  devChain: DevChain,
  profile: DevProfile,
  op: FinalUserOperation,
  terms: TokenTerms,
): Promise<Hex> {
  if (profile.entryPointVersion === '0.6')
    return signTokenPayment06(devChain, profile.sponsorship, op, terms);
  return profile.entryPointVersion === '0.7'
    ? signTokenPayment07(devChain, profile.sponsorship, op, terms)
    : signTokenPayment09(devChain, profile.sponsorship, op, terms);
}

async function signTokenPayment06(
  devChain: DevChain,
  paymaster: Address,
  op: FinalUserOperation,
  terms: TokenTerms,
) {
  const abi = new Interface([
    `function getHash(${userOperation06} op, uint8, uint48, uint48, address, address, uint256, uint32) view returns (bytes32)`,
  ]);
  const noOracle = `0x${'00'.repeat(20)}`;
  const tail = [terms.validUntil, terms.validAfter, terms.token, noOracle, terms.rate, terms.markup];
  const data = encodeWith(abi, 'getHash', [userOperation06Values(op, '0x'), 0, ...tail]);
  const signature = await signed(devChain, await devChain.chain.call({ to: paymaster, data }));
  const encoded = AbiCoder.defaultAbiCoder().encode(
    ['uint48', 'uint48', 'address', 'address', 'uint256', 'uint32'],
    tail,
  );
  return asHex(`${paymaster.toLowerCase()}00${encoded.slice(2)}${signature.slice(2)}`);
}

async function signTokenPayment07(
  devChain: DevChain,
  paymaster: Address,
  op: FinalUserOperation,
  terms: TokenTerms,
) {
  const abi = new Interface([
    `function getHash(${userOperation07} op, uint48, uint48, address, uint256, uint32) view returns (bytes32)`,
  ]);
  const head = `${paymaster.toLowerCase()}${hex(90_000n, 16)}${hex(100_000n, 16)}`;
  const data = encodeWith(abi, 'getHash', [
    userOperation07Values(op, asHex(head)),
    terms.validUntil,
    terms.validAfter,
    terms.token,
    terms.rate,
    terms.markup,
  ]);
  const signature = await signed(devChain, await devChain.chain.call({ to: paymaster, data }));
  return asHex(`${head}00${fieldsOf(terms)}${signature.slice(2)}`.toLowerCase());
}

async function signTokenPayment09(
  devChain: DevChain,
  paymaster: Address,
  op: FinalUserOperation,
  terms: TokenTerms,
) {
  const abi = new Interface([`function getHash(${userOperation07} op) view returns (bytes32)`]);
  const head = `${paymaster.toLowerCase()}${hex(90_000n, 16)}${hex(100_000n, 16)}`;
  const unsigned = asHex(`${head}01${fieldsOf(terms)}`.toLowerCase());
  const data = encodeWith(abi, 'getHash', [userOperation07Values(op, unsigned)]);
  const signature = await signed(devChain, await devChain.chain.call({ to: paymaster, data }));
  return asHex(`${unsigned}${signature.slice(2)}`);
}

function fieldsOf(terms: TokenTerms): string {
  return [
    hex(BigInt(terms.validUntil), 6),
    hex(BigInt(terms.validAfter), 6),
    terms.token.slice(2),
    hex(terms.rate, 32),
    hex(BigInt(terms.markup), 4),
  ].join('');
}

function signed(devChain: DevChain, hash: Hex): Promise<string> {
  return devChain.sponsorSigner.signMessage(getBytes(hash));
}

function hex(value: bigint, bytes: number): string {
  return value.toString(16).padStart(bytes * 2, '0');
}
