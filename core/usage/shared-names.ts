import type { AddressKey } from '../units/address.js';
import { exposureCounter, liveCounter, shareCounter } from './counter-names.js';
import type { AccountId } from './reservation.js';

/** The exposures of a contract that do not depend on the account. */
type SharedExposures = {
  readonly contract: string;
  readonly organisation: string;
  readonly paymaster: string;
};

/**
 * Names of the counters that all accounts of a paymaster share. Each is made at its first use and kept: a Map hashes a new text
 * at every look-up, and a known one never again.
 */
export class SharedNames {
  readonly live: string;
  readonly #paymasterId: string;
  readonly #namespace: string;
  readonly #shares = new Map<AddressKey, Map<AddressKey | '', string>>();
  readonly #exposures = new Map<AddressKey, SharedExposures>();

  constructor({ paymasterId, namespace }: { readonly paymasterId: string; readonly namespace: string }) {
    this.live = liveCounter(paymasterId);
    this.#paymasterId = paymasterId;
    this.#namespace = namespace;
  }

  share(account: AccountId): string {
    const { contract, fundingAddress = '' } = account;
    let ofContract = this.#shares.get(contract);
    if (ofContract === undefined) this.#shares.set(contract, (ofContract = new Map()));
    let name = ofContract.get(fundingAddress);
    if (name === undefined) ofContract.set(fundingAddress, (name = shareCounter(account, this.#namespace)));
    return name;
  }

  exposures(contract: AddressKey): SharedExposures {
    let names = this.#exposures.get(contract);
    if (names === undefined) {
      names = {
        contract: exposureCounter(contract, 'all'),
        organisation: exposureCounter(contract, { organisation: this.#namespace }),
        paymaster: exposureCounter(contract, { paymasterId: this.#paymasterId }),
      };
      this.#exposures.set(contract, names);
    }
    return names;
  }
}
