import { AbiCoder, concat, keccak256, toBeHex } from 'ethers';
import { encodeAbiParameters, encodePacked, keccak256 as viemKeccak, parseAbiParameters } from 'viem';
import type { PaymasterGas } from '../../../core/entry-point/user-operation.js';
import type { Address } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';

/** An ABI library as these layouts need it. Widths: `uint256` etc. by type. */
export type Library = {
  readonly abi: (types: string, values: readonly unknown[]) => Hex;
  readonly packed: (types: readonly string[], values: readonly unknown[]) => Hex;
  readonly keccak: (data: Hex) => Hex;
};

export const byEthers: Library = {
  abi: (types, values) => AbiCoder.defaultAbiCoder().encode(types.split(','), values) as Hex,
  packed: (types, values) =>
    concat(
      types.map((type, index) => {
        const value = values[index];
        return type.startsWith('uint')
          ? toBeHex(BigInt(String(value)), Number(type.slice(4)) / 8)
          : String(value);
      }),
    ) as Hex,
  keccak: (data) => keccak256(data) as Hex,
};

export const byViem: Library = {
  abi: (types, values) => {
    const parameters = parseAbiParameters(types) as readonly { type: string }[];
    return encodeAbiParameters(
      parameters,
      values.map((value, index) => numeric(value, parameters[index]?.type ?? '')),
    );
  },
  packed: (types, values) =>
    encodePacked(
      types,
      values.map((value, index) => numeric(value, types[index] ?? '')),
    ),
  keccak: (data) => viemKeccak(data),
};

// viem takes integers of up to 48 bits as numbers, wider ones as bigints; addresses in any valid checksum.
function numeric(value: unknown, type: string): unknown {
  if (type === 'address') return String(value).toLowerCase();
  if (!type.startsWith('uint')) return value;
  return Number(type.slice(4)) <= 48 ? Number(value) : BigInt(String(value));
}

const pair = ['uint128', 'uint128'];
export function accountGasLimits(packed: Library['packed'], op: FinalUserOperation): Hex {
  return packed(pair, [op.verificationGasLimit, op.callGasLimit]);
}
export function gasFees(packed: Library['packed'], op: FinalUserOperation): Hex {
  return packed(pair, [op.maxPriorityFeePerGas, op.maxFeePerGas]);
}
export function paymasterGas(packed: Library['packed'], gas: PaymasterGas): Hex {
  return packed(pair, [gas.paymasterVerificationGasLimit, gas.paymasterPostOpGasLimit]);
}

/** What a singleton paymaster signs on EntryPoint 0.6: `unsigned` is its data up to the signature. */
export function singleton06Hash(
  { abi, keccak }: Library,
  op: FinalUserOperation,
  { chainId }: { readonly chainId: number },
  unsigned: Hex,
): Hex {
  const operation = abi('address,uint256,uint256,uint256,uint256,uint256,uint256,bytes32,bytes32,bytes32', [
    op.sender,
    op.nonce,
    op.callGasLimit,
    op.verificationGasLimit,
    op.preVerificationGas,
    op.maxFeePerGas,
    op.maxPriorityFeePerGas,
    keccak(op.callData),
    keccak(op.initCode),
    keccak(unsigned),
  ]);
  return keccak(abi('bytes32,uint256', [keccak(operation), chainId]));
}

/** The same from EntryPoint 0.7 on. */
export function singleton07Hash(
  { abi, packed, keccak }: Library,
  op: FinalUserOperation,
  { chainId }: { readonly chainId: number },
  unsigned: Hex,
): Hex {
  const operation = abi('address,uint256,bytes32,uint256,bytes32,bytes32,bytes32,bytes32', [
    op.sender,
    op.nonce,
    accountGasLimits(packed, op),
    op.preVerificationGas,
    gasFees(packed, op),
    keccak(op.initCode),
    keccak(op.callData),
    keccak(unsigned),
  ]);
  return keccak(abi('bytes32,uint256', [keccak(operation), chainId]));
}

/** `getHash` of our hybrid contract for EntryPoint 0.9: `unsigned` is its data up to the signature. */
export function hybrid09Hash(
  { abi, packed, keccak }: Library,
  op: FinalUserOperation,
  { chainId, paymaster }: { readonly chainId: number; readonly paymaster: Address },
  unsigned: Hex,
): Hex {
  return keccak(
    abi('address,uint256,bytes32,bytes32,bytes32,uint256,bytes32,bytes32,uint256,address', [
      op.sender,
      op.nonce,
      keccak(op.initCode),
      keccak(op.callData),
      accountGasLimits(packed, op),
      op.preVerificationGas,
      gasFees(packed, op),
      keccak(unsigned),
      chainId,
      paymaster,
    ]),
  );
}
