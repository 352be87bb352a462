import { AbiCoder, toBeHex } from 'ethers';
import { createChains } from '../../../../adapters/chain/chains.js';
import type { Chain, Chains } from '../../../../core/chain/chain.js';
import { silentLogger } from '../../../../core/log.js';
import { noMetrics } from '../../../../core/metrics.js';
import { parseAddress, type Address } from '../../../../core/units/address.js';
import { isHexBytes, type Hex } from '../../../../core/units/hex.js';
import { systemClock } from '../../../../core/units/time.js';
import { startAnvil } from '../../../../standalone/dev-chain/anvil.js';
import { readOwnArtifact } from '../../../../standalone/dev-chain/artifacts.js';
import { devAccounts } from '../../../../standalone/dev-chain/dev-accounts.js';
import { create2Address, createTransactor, deployOnce } from '../../../../standalone/dev-chain/transactor.js';

/** An anvil on which price feeds and tokens are deployed as a test needs them. */
export type FeedChain = {
  readonly url: string;
  readonly chainId: number;
  readonly chains: Chains;
  /** Number of contract calls that `chains` got so far. */
  calls(): number;
  readonly chain: Chain;
  /** A new feed; `answer` in its decimals. */
  feed(options: {
    readonly description?: string;
    readonly decimals?: number;
    readonly answer: bigint;
  }): Promise<FeedContract>;
  token(options: { readonly symbol: string; readonly decimals: number }): Promise<Address>;
  /** Unix seconds of the newest block. */
  time(): Promise<number>;
  stop(): Promise<void>;
};

export type FeedContract = {
  readonly address: Address;
  /** Calls a setter of the feed, mined when it resolves. */
  call(method: string, values: readonly unknown[]): Promise<void>;
};

export async function startFeedChain(): Promise<FeedChain> {
  const anvil = await startAnvil({ log: silentLogger });
  const connected = createChains({
    log: silentLogger,
    clock: systemClock,
    metrics: noMetrics,
    timeoutMs: 10_000,
  });
  let calls = 0;
  const chains = counting(connected, () => {
    calls += 1;
  });
  const chainId = 31337;
  const chain = chains.get({ chainId, rpc: { urls: [anvil.url] } });
  const transactor = createTransactor(chain, devAccounts.deployer.privateKey);
  let deployed = 0;

  return {
    url: anvil.url,
    chainId,
    chains,
    calls: () => calls,
    chain,
    async feed({ description = 'ETH / USD', decimals = 8, answer }) {
      const address = await deploy('DevFeed', ['string', 'uint8', 'int256'], [description, decimals, answer]);
      return {
        address,
        async call(method, values) {
          const data = readOwnArtifact('DevFeed').abi.encodeFunctionData(method, values);
          await transactor.send(method, { to: address, data: hex(data) });
        },
      };
    },
    token: ({ symbol, decimals }) => deploy('AnyToken', ['string', 'uint8', 'uint8'], [symbol, decimals, 0]),
    time: async () => (await chain.block('latest'))?.timestamp ?? 0,
    async stop() {
      await chains.stop();
      await anvil.stop();
    },
  };

  async function deploy(
    name: string,
    types: readonly string[],
    values: readonly unknown[],
  ): Promise<Address> {
    const args = AbiCoder.defaultAbiCoder().encode(types, values);
    const initCode = hex(`${readOwnArtifact(name).bytecode}${args.slice(2)}`);
    deployed += 1;
    const salt = hex(toBeHex(deployed, 32));
    const address = parseAddress(create2Address(initCode, salt));
    await deployOnce(chain, transactor, { name, address, initCode, salt });
    return address;
  }
}

function counting(chains: Chains, onCall: () => void): Chains {
  return {
    get(endpoint) {
      const chain = chains.get(endpoint);
      return {
        ...chain,
        call(request) {
          onCall();
          return chain.call(request);
        },
      };
    },
    stop: () => chains.stop(),
  };
}

function hex(text: string): Hex {
  if (!isHexBytes(text)) throw new Error(`not hex: ${text.slice(0, 40)}`);
  return text;
}
