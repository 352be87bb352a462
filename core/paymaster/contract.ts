import { AbiCoder, FunctionFragment, Interface, type ParamType } from 'ethers/abi';
import { toAddressKey, addressWord, type Address } from '../units/address.js';
import { isHexBytes, type Hex } from '../units/hex.js';
import { encodeCall } from './abi.js';
import { parseWord } from './reader.js';

// How a contract of a layout is made, owned and funded. Read by `paymaster contract`; nothing on the sponsor path uses it.

/** A call as people and other programs read it: its signature with names, and a value for each. */
export type ContractCall = { readonly fragment: string; readonly values: readonly unknown[] };

type ContractParts = {
  readonly entryPoint: Address;
  readonly owner: Address;
  readonly signer: Address;
  /** In contracts with a balance per sponsor: whose balance pays in token mode. */
  readonly tokenAccount: Address;
};

/** Init code that the project ships. */
type ContractArtifact = {
  /** File in `contracts/artifacts`, without its ending. */
  readonly file: string;
  readonly isAudited: boolean;
  /**
   * `sender`: the constructor makes its caller the owner. Through a deployer contract it would belong to that contract for ever, so it
   * is made by a plain transaction and then given away.
   */
  readonly owner: 'argument' | 'sender';
  /** Constructor with its arguments. */
  readonly creation: (parts: ContractParts) => ContractCall;
};

export type ContractRules = {
  /** Absent: we ship no contract of this layout. */
  readonly artifact?: ContractArtifact;
  /** What somebody else has to compile and deploy, with which arguments; absent: the artifact is the contract. */
  readonly source?: string;
  /** Whether an account is the owner; absent: contracts of the layout have no view in common. */
  readonly ownerCall?: (owner: Address) => OwnerCall;
  /** Absent: the signer is that of the constructor, for ever. */
  readonly authorise?: (signer: Address) => ContractCall;
  /** Absent: the contract has one signer, whom another replaces. */
  readonly removeSigner?: (signer: Address) => ContractCall;
  /** Absent: contracts of the layout have no such calls in common. */
  readonly stake?: {
    /** Whether validation reads storage of the contract: bundlers then ask for a stake (ERC-7562, STO-031). */
    readonly isNeeded: boolean;
  };
  /** Calls that take out, in the order in which they are tried: contracts of one layout may differ. Empty: no standard call. */
  readonly withdrawals: (to: Address, amount: bigint, sponsor: Address) => readonly ContractCall[];
};

type OwnerCall = { readonly data: Hex; readonly isOwner: (answer: Hex) => boolean };

/** `owner()`. */
export const ownedBy = (owner: Address): OwnerCall => ({
  data: '0x8da5cb5b',
  isOwner: (answer) => parseWord(answer) === BigInt(owner),
});

/** `hasRole(bytes32,address)` for role 0, the administrator of OpenZeppelin's AccessControl. */
export const administeredBy = (owner: Address): OwnerCall => ({
  data: `0x91d14854${'00'.repeat(32)}${addressWord(toAddressKey(owner))}`,
  isOwner: (answer) => parseWord(answer) === 1n,
});

export const setSigner = (signer: Address): ContractCall => ({
  fragment: 'function setSigner(address signer)',
  values: [signer],
});

export const withdrawTo = (to: Address, amount: bigint): ContractCall => ({
  fragment: 'function withdrawTo(address to, uint256 amount)',
  values: [to, amount],
});

/** Our contracts with a balance per sponsor: a build for each EntryPoint. */
export const hybridArtifact = (file: string): ContractArtifact => ({
  file,
  isAudited: false,
  owner: 'argument',
  creation: ({ entryPoint, owner, signer, tokenAccount }) => ({
    fragment: 'constructor(address entryPoint, address owner, address signer, address tokenAccount)',
    values: [entryPoint, owner, signer, tokenAccount],
  }),
});

/** Init code of `bytecode` with the constructor's arguments. */
export function encodeInitCode(bytecode: Hex, { fragment, values }: ContractCall): Hex {
  const types = new Interface([fragment]).deploy.inputs;
  return concatHex(bytecode, AbiCoder.defaultAbiCoder().encode(types, values));
}

export function encodeContractCall({ fragment, values }: ContractCall): Hex {
  return encodeCall(fragment, values);
}

/** Name and arguments, each with its name: `withdrawTo(to: 0x…, amount: 5)`. */
export function describeCall({ fragment, values }: ContractCall, name?: string): string {
  const inputs = listInputs(fragment).map((input, at) => `${input.name}: ${describeValue(values[at])}`);
  return `${name ?? FunctionFragment.from(fragment).name}(${inputs.join(', ')})`;
}

function listInputs(fragment: string): readonly ParamType[] {
  return fragment.startsWith('constructor')
    ? new Interface([fragment]).deploy.inputs
    : FunctionFragment.from(fragment).inputs;
}

export function describeValue(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(describeValue).join(', ')}]` : String(value);
}

function concatHex(bytecode: Hex, encoded: string): Hex {
  const all = `${bytecode}${encoded.slice(2)}`;
  if (!isHexBytes(all)) throw new TypeError('ethers encoded arguments that are not hex');
  return all;
}
