import type { LayoutId } from '../../core/paymaster/layout.js';
import { entryPoints } from '../../core/entry-point/address.js';
import type { Address } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { EntryPointRules } from '../../core/entry-point/rules.js';
import { entryPoint06 } from '../../core/entry-point/v06.js';
import { entryPoint07 } from '../../core/entry-point/v07.js';
import { entryPoint08 } from '../../core/entry-point/v08.js';
import { entryPoint09 } from '../../core/entry-point/v09.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { readNpmArtifact, readOwnArtifact, readSingletonInitCode } from './artifacts.js';
import { withArguments } from './canonical.js';
import { devAccounts } from './dev-accounts.js';
import { create2Address } from './transactor.js';

export type DevProfile = {
  readonly version: string;
  readonly layout: LayoutId;
  readonly entryPoint: Address;
  readonly entryPointVersion: EntryPointVersion;
  readonly sponsorship: Address;
  /** Contract for mode ERC20; absent if the layout has no such mode. */
  readonly token?: Address;
  /** As in a Chain resource's profile. */
  readonly options: { readonly unaccountedGas?: number; readonly treasury?: Address };
};

/** A profile's contract with the code that deploys it. */
export type PaymasterContract = DevProfile & { readonly name: string; readonly initCode: Hex };

/** One contract per layout. The address depends on the constructor arguments. */
export function paymasterContracts(signer: Address, owner: Address): readonly PaymasterContract[] {
  const treasury = devAccounts.treasury.address;
  const hybrid = ({ address }: EntryPointRules, contract: string) =>
    withArguments(
      readOwnArtifact(contract).bytecode,
      ['address', 'address', 'address', 'address'],
      [address, owner, signer, treasury],
    );
  const singleton = ({ address }: EntryPointRules, suffix: '06' | '07' | '08') =>
    withArguments(
      readSingletonInitCode(suffix),
      ['address', 'address', 'address', 'address[]'],
      [address, owner, owner, [signer]],
    );
  const verifying07 = withArguments(
    readNpmArtifact('aa07', 'VerifyingPaymaster').bytecode,
    ['address', 'address'],
    [entryPoint07.address, signer],
  );
  const verifying09 = withArguments(
    readOwnArtifact('VerifyingPaymaster09').bytecode,
    ['address', 'address', 'address'],
    [entryPoint09.address, owner, signer],
  );
  return [
    described('1.1.0', 'vendor-1.1.0', 'HybridPaymaster06', hybrid(entryPoint06, 'HybridPaymaster06'), {}),
    described('2.0.0', 'vendor-2.x', 'HybridPaymaster07', hybrid(entryPoint07, 'HybridPaymaster07'), {
      unaccountedGas: hybrid07UnaccountedGas,
    }),
    described('singleton-0.6', 'singleton-0.6', 'SingletonPaymasterV6', singleton(entryPoint06, '06'), {
      treasury,
    }),
    described('singleton-0.7', 'singleton-0.7', 'SingletonPaymasterV7', singleton(entryPoint07, '07'), {
      treasury,
    }),
    described('singleton-0.8', 'singleton-0.8', 'SingletonPaymasterV8', singleton(entryPoint08, '08'), {
      treasury,
    }),
    described('verifying-0.7', 'verifying-0.7', 'VerifyingPaymaster', verifying07, {}),
    described('verifying-0.9', 'verifying-0.9', 'VerifyingPaymaster09', verifying09, {}),
    described('hybrid-0.9', 'hybrid-0.9', 'HybridPaymaster09', hybrid(entryPoint09, 'HybridPaymaster09'), {}),
  ];
}

/** The constant of the same name in contracts/HybridPaymaster07.sol; the chain tests compare the two. */
const hybrid07UnaccountedGas = 10_000;

function described(
  version: string,
  layout: LayoutId,
  name: string,
  initCode: Hex,
  options: DevProfile['options'],
): PaymasterContract {
  const sponsorship = create2Address(initCode);
  const { entryPointVersion } = layouts[layout];
  return {
    version,
    layout,
    entryPoint: entryPoints[entryPointVersion],
    entryPointVersion,
    sponsorship,
    ...(layouts[layout].token === undefined ? {} : { token: sponsorship }),
    options,
    name,
    initCode,
  };
}
