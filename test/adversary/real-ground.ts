import { getBytes } from 'ethers';
import type { Chain } from '../../core/chain/chain.js';
import { DomainError } from '../../core/errors.js';
import type { DevChain } from '../chain/support/dev-chain.js';
import type { ChainAction } from './chain/operations.js';
import type { NodeFaults } from './chain/model-chain.js';
import { signingWallets } from './chain/signing-keys.js';
import type { PairedChain } from './chain/paired-chain.js';
import type { Ground } from './ground.js';

/** One in so many of the bundles that should be fat is: it takes the node a second. */
const fatEach = 10;

/** A real chain with the model beside it. The service reads the real chain; rules are checked on the model, which must agree. */
export function realGround(dev: DevChain, paired: PairedChain): Ground {
  const { model } = paired;
  let fat = 0;
  return {
    model,
    port: faulty(dev.chain, model.faults),
    sign: (digest, key) => getBytes(signingWallets[key]!.signingKey.sign(digest).serialized),
    hasFickleAccounts: false,
    hasCheapBlocks: false,
    mine: (action, time) => {
      const delivery = action.do === 'bundle' ? action.delivery : undefined;
      if (delivery === undefined || delivery.fat === 'nothing') return paired.mine(action, time);
      fat += 1;
      // The node takes no request of more than two MB.
      const instead = { ...delivery, fat: fat % fatEach === 1 ? 'receipt' : 'nothing' };
      return paired.mine({ ...action, delivery: instead } as ChainAction, time);
    },
    mineEmpty: (time) => paired.mineEmpty(time),
    heightOf: async ({ blockNumber, blockHash }) => {
      const isThere = (await dev.chain.block(blockNumber))?.hash === blockHash;
      return isThere ? blockNumber - paired.real.height + model.height : undefined;
    },
    reorganise: (height) => paired.reorganise(model.height - height),
    stop: async () => {},
  };
}

/** A real node with the model's faults, except that it does not lag. */
function faulty(chain: Chain, faults: NodeFaults): Chain {
  const answering =
    <A extends readonly unknown[], T>(call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      if (faults.isDown) throw new DomainError('UNAVAILABLE', 'the node does not answer');
      return call(...args);
    };
  return {
    chainId: answering(() => chain.chainId()),
    block: answering((tag) => chain.block(tag)),
    call: answering((request) => chain.call(request)),
    words: answering((calls, block) => chain.words(calls, block)),
    code: answering((address, tag) => chain.code(address, tag)),
    balance: answering((address, tag) => chain.balance(address, tag)),
    logs: answering(async (filter) => {
      if (faults.emptyLogs === 0) return chain.logs(filter);
      faults.emptyLogs -= 1;
      return [];
    }),
    priorityFee: answering(() => chain.priorityFee()),
    transaction: answering(async (hash) => (faults.hasNoTransactions ? undefined : chain.transaction(hash))),
    request: answering((method, params) => chain.request(method, params)),
    stop: async () => {},
  };
}
