import type { PaymasterGas } from '../../../core/entry-point/user-operation.js';
import type { SponsorshipTerms } from '../../../core/paymaster/layout.js';
import { toAddressKey, zeroAddress, type AddressKey } from '../../../core/units/address.js';
import type { DecodedCalls } from '../../../core/userop/call-data.js';
import type { HostOutcome } from '../../../core/policy/policy-hosts.js';
import { servesByDefault, type ServedProfile } from '../../view/served-chain.js';
import type { ServedPaymaster } from '../../view/served-paymaster.js';
import { decodeRequestCalls } from '../calls.js';
import { gatherFacts, type FactDeps } from '../facts.js';
import { choosePaymasterGas } from '../paymaster-gas.js';
import type { SponsorRequest } from '../request.js';
import type { Case } from '../step.js';
import { needsSimulation } from './unused-gas.js';

/** Everything that the steps of mode SPONSORED need. */
export type SponsorCase = Case & {
  /** The wallet that pays; undefined when no wallet is named. */
  readonly funding: AddressKey | undefined;
  /** What callData makes the account do. */
  readonly calls: DecodedCalls;
  readonly simulates: boolean;
  /** The paymaster's gas limits to sign, and the options with them. */
  readonly paymasterGas: PaymasterGas;
  readonly options: SponsorshipTerms['options'];
  /** What hosts have answered, by the policy's id; undefined until one was asked. */
  outcomes: ReadonlyMap<string, HostOutcome> | undefined;
  /** Resolves when the hosts of policies in Shadow have answered; never rejects. */
  shadowsAsked: Promise<unknown> | undefined;
};

/** Throws as {@link gatherFacts}. */
export function gatherCase(deps: FactDeps, paymaster: ServedPaymaster, request: SponsorRequest): SponsorCase {
  const facts = gatherFacts(deps, paymaster, request, 'SPONSORED');
  const { profile } = facts;
  const paymasterGas = choosePaymasterGas(profile, request);
  return {
    ...facts,
    paymasterGas,
    options: paymasterGas === profile.paymasterGas ? profile.options : { ...profile.options, paymasterGas },
    funding: choosePayer(facts.profile, paymaster),
    calls: decodeRequestCalls(facts),
    simulates: needsSimulation(facts, paymasterGas),
    op: undefined,
    usage: undefined,
    estimate: undefined,
    outcomes: undefined,
    shadowsAsked: undefined,
  };
}

/**
 * The paymaster's own wallet, else the profile's default if it serves the organisation. A layout without a balance per
 * sponsor pays from the contract's single deposit: no wallet is named, and a default that lists organisations only says
 * which of them may draw on the deposit.
 */
export function choosePayer(profile: ServedProfile, paymaster: ServedPaymaster): AddressKey | undefined {
  const { defaultFunding } = profile;
  const byDefault = servesByDefault(profile, paymaster.namespace) ? defaultFunding?.address : undefined;
  if (profile.keepsBalances) return paymaster.fundingAddress ?? byDefault;
  return defaultFunding === undefined ? noWallet : byDefault;
}

/** Placeholder wallet for layouts without balances, which do not encode it, and for data that nobody signs. */
export const noWallet = toAddressKey(zeroAddress);
