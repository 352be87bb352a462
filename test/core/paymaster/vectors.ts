import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LayoutId, SponsorshipTerms, TokenTerms } from '../../../core/paymaster/layout.js';
import type { PaymasterGas } from '../../../core/entry-point/user-operation.js';
import { parseAddress, toAddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { repositoryRoot } from '../../support/repository-root.js';

/** One operation that a third-party contract accepted, with the hash that the contract itself computed. */
export type Vector = {
  readonly contract: string;
  readonly entryPointVersion: '0.6' | '0.7' | '0.8';
  readonly entryPoint: string;
  readonly chainId: number;
  readonly paymaster: string;
  readonly userOp: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, string | number | boolean>>;
  readonly hash: Hex;
  readonly paymasterAndData: Hex;
};

type VectorFile = { readonly signerKey: Hex; readonly signer: string; readonly vectors: readonly Vector[] };

/** Reads a file of `test/vectors`. */
export function readVectors(name: string): VectorFile {
  return JSON.parse(readFileSync(join(repositoryRoot, `test/vectors/${name}.json`), 'utf8')) as VectorFile;
}

export function sponsoredVectors(): readonly NamedVector[] {
  return vectorsOf('SPONSORED');
}

export function tokenVectors(): readonly NamedVector[] {
  return vectorsOf('ERC20');
}

type NamedVector = { readonly layout: LayoutId; readonly vector: Vector };

function vectorsOf(mode: 'SPONSORED' | 'ERC20'): readonly NamedVector[] {
  const named = [...readVectors('paymaster-hashes').vectors, ...readVectors('vendor-2x').vectors];
  return named.flatMap((vector) => {
    const layout = layoutOf(vector);
    return layout === undefined || vector.params['mode'] !== mode ? [] : [{ layout, vector }];
  });
}

function layoutOf({ contract, entryPointVersion }: Vector): LayoutId | undefined {
  if (contract.startsWith('biconomy-')) return entryPointVersion === '0.6' ? 'vendor-1.1.0' : 'vendor-2.x';
  if (contract === 'singleton') return `singleton-${entryPointVersion}`;
  if (contract === 'verifying' && entryPointVersion === '0.7') return 'verifying-0.7';
  return undefined;
}

export function operationOf({ userOp }: Vector): FinalUserOperation {
  const text = (name: string) => userOp[name] ?? '0x';
  const quantity = (name: string) => BigInt(text(name));
  const factory = text('factory');
  return {
    sender: toAddressKey(parseAddress(text('sender'))),
    nonce: quantity('nonce'),
    initCode: (factory === '0x'
      ? text('initCode')
      : factory + text('factoryData').slice(2)
    ).toLowerCase() as Hex,
    callData: text('callData').toLowerCase() as Hex,
    callGasLimit: quantity('callGasLimit'),
    verificationGasLimit: quantity('verificationGasLimit'),
    preVerificationGas: quantity('preVerificationGas'),
    maxFeePerGas: quantity('maxFeePerGas'),
    maxPriorityFeePerGas: quantity('maxPriorityFeePerGas'),
    signature: '0x',
  };
}

export function termsOf({ chainId, paymaster, params }: Vector): SponsorshipTerms {
  return {
    chainId,
    paymaster: parseAddress(paymaster),
    fundingAddress: toAddressKey(
      parseAddress(String(params['paymasterId'] ?? '0x00000000000000000000000000000000000000ff')),
    ),
    validUntil: Number(params['validUntil']),
    validAfter: Number(params['validAfter']),
    options: { priceMarkup: Number(params['priceMarkup'] ?? 1_000_000), unaccountedGas: 50_000 },
  };
}

export function tokenTermsOf({ chainId, paymaster, params }: Vector): TokenTerms {
  const optional = (name: string) =>
    params[name] === undefined ? {} : { [name]: BigInt(String(params[name])) };
  const address = (name: string) =>
    params[name] === undefined ? {} : { [name]: parseAddress(String(params[name])) };
  return {
    chainId,
    paymaster: parseAddress(paymaster),
    token: toAddressKey(parseAddress(String(params['token'] ?? params['feeToken']))),
    exchangeRate: BigInt(String(params['exchangeRate'])),
    priceMarkup: Number(params['priceMarkup'] ?? 1_000_000),
    validUntil: Number(params['validUntil']),
    validAfter: Number(params['validAfter']),
    options: {
      ...address('treasury'),
      ...optional('preFund'),
      ...optional('constantFee'),
      ...address('recipient'),
    },
  };
}

export function gasOf({ params }: Vector): PaymasterGas {
  return {
    paymasterVerificationGasLimit: BigInt(String(params['paymasterVerificationGasLimit'] ?? '0')),
    paymasterPostOpGasLimit: BigInt(String(params['paymasterPostOpGasLimit'] ?? '0')),
  };
}
