import type { PolicyRules } from '../policy/kind.js';
import type { Organisation } from '../resources/organisation.js';
import type { PaymasterPolicy } from '../resources/paymaster-policy.js';
import type { Paymaster } from '../resources/paymaster.js';
import type { SmartContract } from '../resources/smart-contract.js';
import type { MasterKeys } from '../secrets.js';
import type { EpochMs } from '../units/time.js';
import type { ChainConfig } from './chain-config.js';
import type { ReadMethods } from './compile-contracts.js';
import type { PaymasterConfig } from './paymaster-config.js';
import type { PlatformDefaults } from './platform.js';

/** Everything that decides the compiled form of one paymaster. */
export type PaymasterSources = {
  readonly paymaster: Paymaster;
  readonly contracts: readonly SmartContract[];
  /** Another contract is being deleted: it still counts as registered, so that nobody opens the paymaster by beginning to delete. */
  readonly isContractLeaving?: boolean;
  readonly policies: readonly PaymasterPolicy[];
  /** The Organisation that names the namespace. */
  readonly organisation: Organisation | undefined;
  /** Defaults where the Organisation sets nothing. */
  readonly platform: PlatformDefaults;
  /**
   * Paymasters of the namespace that may conflict, including this one: those with its name and chain, and all of them
   * when there are more than the quota.
   */
  readonly siblings: readonly Paymaster[];
  /** Object names of the siblings that are being served. */
  readonly programmed: ReadonlySet<string>;
  /** The compiled chain that the paymaster names. */
  readonly chain: ChainConfig | undefined;
  readonly offeredChains: readonly number[];
  readonly masterKeys: Pick<MasterKeys, 'current' | 'previous'>;
  /** What is served now. */
  readonly previous: PaymasterConfig | undefined;
  readonly readMethods: ReadMethods;
  readonly policyRules: PolicyRules;
  readonly now: EpochMs;
};
