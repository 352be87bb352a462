import { AbiCoder } from 'ethers/abi';
import type { Chain } from '../../core/chain/chain.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { entryPoint06 } from '../../core/entry-point/v06.js';
import { entryPoint07 } from '../../core/entry-point/v07.js';
import { entryPoint08 } from '../../core/entry-point/v08.js';
import { entryPoint09 } from '../../core/entry-point/v09.js';
import { entryPointVersions, type EntryPointVersion } from '../../core/entry-point/version.js';
import { parseAddress, type Address } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import { readMulticall3Code, readNpmArtifact, readRuntimeCode } from './artifacts.js';
import {
  create2Address,
  deployOnce,
  deterministicDeployer,
  zeroSalt,
  type Transactor,
} from './transactor.js';

/** SimpleAccount factories, up to 0.8 as viem and permissionless know them. */
export const accountFactories: Readonly<Record<EntryPointVersion, Address>> = {
  [entryPoint06.version]: parseAddress('0x9406Cc6185a346906296840746125a0E44976454'),
  [entryPoint07.version]: parseAddress('0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985'),
  [entryPoint08.version]: parseAddress('0x13E9ed32155810FDbd067D4522C492D6f68E5944'),
  [entryPoint09.version]: parseAddress('0xEDd9667C46f5FC5115EC33940df899ad4EAE5949'),
};

/** Delegate for EIP-7702 accounts on EntryPoint 0.8. */
export const simple7702Account = parseAddress('0xe6Cae83BdE06E4c305530e199D7217f42808555B');
/** Delegate for EIP-7702 accounts on EntryPoint 0.9. */
export const simple7702Account09 = parseAddress('0x09870c7c1F3F14094D9F33A83A45B22CFBb519b0');
/**
 * The delegate that viem names by default on EntryPoint 0.9. Nobody has published its init code, so a dev chain has the code
 * of {@link simple7702Account09} there.
 */
export const viemDelegate09 = parseAddress('0xa46cc63eBF4Bd77888AA327837d20b23A63a56B5');

type CanonicalContract = {
  readonly name: string;
  readonly address: Address;
  readonly salt: Hex;
  readonly initCode: Hex;
};

const packages = {
  [entryPoint06.version]: 'aa06',
  [entryPoint07.version]: 'aa07',
  [entryPoint08.version]: 'aa08',
  [entryPoint09.version]: 'aa09',
} as const satisfies Record<EntryPointVersion, string>;
/** Undefined for an EntryPoint of which only the runtime code is published. */
const entryPointSalts: Readonly<Record<EntryPointVersion, Hex | undefined>> = {
  [entryPoint06.version]: zeroSalt,
  [entryPoint07.version]: '0x90d8084deab30c2a37c45e8d47f49f2f7965183cb6990a98943ef94940681de3',
  [entryPoint08.version]: '0x0a59dbff790c23c976a548690c27297883cc66b4c67024f9117b0238995e35e9',
  [entryPoint09.version]: undefined,
};

/**
 * Deploys the EntryPoints, the SimpleAccount factories and the 7702 accounts if they are missing, from the same init code
 * and salts as on public chains, so that clients find them at the usual addresses. EntryPoint 0.9 gets its runtime code
 * from the node.
 */
export async function deployCanonical(
  chain: Chain,
  transactor: Transactor,
  progress: (step: string) => void,
): Promise<void> {
  if ((await chain.code(deterministicDeployer)) === '0x')
    throw new DomainError(
      'UNAVAILABLE',
      `the chain has no deterministic deployer at ${deterministicDeployer}; use anvil, or deploy it first`,
    );
  for (const contract of runtimeContracts())
    if (await setCodeOnce(chain, contract)) progress(`${contract.name} at ${contract.address}`);
  for (const contract of canonicalContracts()) {
    const computed = create2Address(contract.initCode, contract.salt);
    if (computed !== contract.address)
      throw new Error(`${contract.name}: the npm artifact lands on ${computed}, not ${contract.address}`);
    if (await deployOnce(chain, transactor, contract)) progress(`${contract.name} at ${contract.address}`);
  }
  const copy = {
    name: 'Simple7702Account 0.9 of viem',
    address: viemDelegate09,
    code: await chain.code(simple7702Account09),
  };
  if (await setCodeOnce(chain, copy)) progress(`${copy.name} at ${copy.address}`);
}

function canonicalContracts(): readonly CanonicalContract[] {
  return [
    ...entryPointVersions.flatMap((version) => {
      const salt = entryPointSalts[version];
      if (salt === undefined) return [];
      const { bytecode: initCode } = readNpmArtifact(packages[version], 'EntryPoint');
      return [{ name: `EntryPoint ${version}`, address: entryPoints[version], salt, initCode }];
    }),
    ...entryPointVersions.map((version) => ({
      name: `SimpleAccountFactory ${version}`,
      address: accountFactories[version],
      salt: zeroSalt,
      initCode: withArguments(
        readNpmArtifact(packages[version], 'SimpleAccountFactory').bytecode,
        ['address'],
        [entryPoints[version]],
      ),
    })),
    {
      name: 'Simple7702Account 0.8',
      address: simple7702Account,
      salt: zeroSalt,
      initCode: readNpmArtifact('aa08', 'Simple7702Account').bytecode,
    },
    {
      name: 'Simple7702Account 0.9',
      address: simple7702Account09,
      salt: zeroSalt,
      initCode: withArguments(
        readNpmArtifact('aa09', 'Simple7702Account').bytecode,
        ['address'],
        [entryPoint09.address],
      ),
    },
  ];
}

/** Init code followed by ABI-encoded constructor arguments. */
export function withArguments(bytecode: Hex, types: readonly string[], values: readonly unknown[]): Hex {
  return `0x${bytecode.slice(2)}${AbiCoder.defaultAbiCoder().encode(types, values).slice(2)}`;
}

/** A contract of which only the runtime code is published, so that it cannot be deployed by a transaction. */
type RuntimeContract = { readonly name: string; readonly address: Address; readonly code: Hex };

/** The same address on most chains. */
export const multicall3 = parseAddress('0xcA11bde05977b3631167028862bE2a173976CA11');

/** Multicall3, EntryPoint 0.9 and the contract that it created in its constructor, without which it cannot deploy accounts. */
export function runtimeContracts(): readonly RuntimeContract[] {
  const contracts = [
    { name: 'EntryPoint 0.9', address: entryPoint09.address },
    { name: 'SenderCreator 0.9', address: parseAddress('0x0A630a99Df908A81115A3022927Be82f9299987e') },
  ];
  return [
    ...contracts.map((contract) => ({ ...contract, code: readRuntimeCode(contract.address) })),
    { name: 'Multicall3', address: multicall3, code: readMulticall3Code() },
  ];
}

/**
 * Sets the code unless the address has code; true if this call set it. Needs a dev node: DomainError UNAVAILABLE if the
 * node cannot set code.
 */
export async function setCodeOnce(
  chain: Pick<Chain, 'code' | 'request'>,
  { name, address, code }: RuntimeContract,
): Promise<boolean> {
  if ((await chain.code(address)) !== '0x') return false;
  for (const method of ['anvil_setCode', 'hardhat_setCode']) {
    try {
      await chain.request(method, [address, code]);
    } catch (error) {
      if (!isDomainError(error, 'UNAVAILABLE')) throw error;
    }
    if ((await chain.code(address)) === code) return true;
  }
  throw new DomainError(
    'UNAVAILABLE',
    `${name} is missing at ${address}, and the node cannot set code: use anvil, or a chain that has it`,
  );
}
