import type { LayoutId } from '../../core/paymaster/layout.js';
import { entryPoints } from '../../core/entry-point/address.js';
import type { Address } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import { encodeInitCode } from '../../core/paymaster/contract.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { readInitCode } from './artifacts.js';
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
  const described = (
    version: string,
    layout: LayoutId,
    name: string,
    options: DevProfile['options'] = {},
  ): PaymasterContract => {
    const { entryPointVersion, token, contract } = layouts[layout];
    const entryPoint = entryPoints[entryPointVersion];
    const { artifact } = contract;
    if (artifact === undefined) throw new TypeError(`no artifact of ${layout} was compiled`);
    const parts = { entryPoint, owner, signer, tokenAccount: treasury };
    const initCode = encodeInitCode(readInitCode(artifact.file), artifact.creation(parts));
    const sponsorship = create2Address(initCode);
    return {
      version,
      layout,
      entryPoint,
      entryPointVersion,
      sponsorship,
      ...(token === undefined ? {} : { token: sponsorship }),
      options,
      name,
      initCode,
    };
  };
  return [
    described('1.1.0', 'vendor-1.1.0', 'HybridPaymaster06'),
    described('2.0.0', 'vendor-2.x', 'HybridPaymaster07', { unaccountedGas: hybrid07UnaccountedGas }),
    described('singleton-0.6', 'singleton-0.6', 'SingletonPaymasterV6', { treasury }),
    described('singleton-0.7', 'singleton-0.7', 'SingletonPaymasterV7', { treasury }),
    described('singleton-0.8', 'singleton-0.8', 'SingletonPaymasterV8', { treasury }),
    described('verifying-0.7', 'verifying-0.7', 'VerifyingPaymaster'),
    described('verifying-0.9', 'verifying-0.9', 'VerifyingPaymaster09'),
    described('hybrid-0.9', 'hybrid-0.9', 'HybridPaymaster09'),
  ];
}

/** The constant of the same name in contracts/HybridPaymaster07.sol; the chain tests compare the two. */
const hybrid07UnaccountedGas = 10_000;
