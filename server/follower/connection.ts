import type { Chain } from '../../core/chain/chain.js';
import type { Head } from '../../core/chain/heads.js';
import { DomainError } from '../../core/errors.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import type { ChainFollowerDeps } from './round.js';
import { readEnds, watchedContracts, type Ends, type Source, type WatchedContract } from './source.js';

/** The connection of one chain, as its config is now, and the newest block that it has shown. */
export class Connection {
  readonly #deps: Pick<ChainFollowerDeps, 'chainId' | 'current'>;
  /** EntryPoints of every profile that this process has seen, including profiles that were removed. */
  readonly entryPoints = new Set<AddressKey>();
  readonly #seenContracts = new Map<AddressKey, WatchedContract>();
  /** What accounts held in wei when they were read last; see `Source`. */
  readonly held = new Map<string, bigint>();
  #head: Head | undefined;
  #headHash: string | undefined;
  #confirmed: number | undefined;
  #verified: Chain | undefined;

  constructor(deps: Pick<ChainFollowerDeps, 'chainId' | 'current'>) {
    this.#deps = deps;
  }

  get head(): Head | undefined {
    return this.#head;
  }

  /** Of the newest block that it has shown. */
  get headHash(): string | undefined {
    return this.#headHash;
  }

  /** The newest block whose operations settle; undefined when the node does not say which one is final. */
  get confirmed(): number | undefined {
    return this.#confirmed;
  }

  /** Asks each connection once for its chain id: balances of another chain would be promised as if they were this chain's. */
  async source(): Promise<Source> {
    const { chainId } = this.#deps;
    const { config, chain, elsewhere = () => chain } = this.#deps.current();
    if (chain !== this.#verified) {
      const answer = await chain.chainId();
      if (answer !== chainId)
        throw new DomainError('UNAVAILABLE', `the node of chain ${chainId} is one of chain ${answer}`, {
          reason: 'CHAIN_MISMATCH',
        });
      this.#verified = chain;
    }
    const contracts = watchedContracts(config);
    for (const watchedContract of contracts.values()) {
      this.entryPoints.add(watchedContract.entryPoint);
      this.#seenContracts.set(watchedContract.contract, watchedContract);
    }
    const { confirmations } = config;
    const { held } = this;
    return { chain, elsewhere, chainId, confirmations, contracts, seenContracts: this.#seenContracts, held };
  }

  /** Throws UNAVAILABLE. */
  async readHead(source: Source, observedAt: EpochMs): Promise<Ends> {
    const [ends, priorityFeePerGas] = await Promise.all([
      readEnds(source),
      // Some nodes do not know the method; price guards have their own floor.
      source.chain.priorityFee().catch(() => this.#head?.priorityFeePerGas ?? 0n),
    ]);
    const { number, timestamp, baseFeePerGas } = ends.head;
    this.#confirmed = ends.confirmed;
    this.#headHash = ends.head.hash;
    this.#head = { number, timestamp, baseFeePerGas, priorityFeePerGas, observedAt };
    return ends;
  }
}
