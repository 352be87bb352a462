import type { Chain } from '../../core/chain/chain.js';
import type { Cursor } from '../../core/usage/follower-step.js';
import { chainId } from '../conformance/usage-requests.js';
import type { Nature } from './chain/entry-point.js';
import { ModelChain } from './chain/model-chain.js';
import type { ActionResult, ChainAction } from './chain/operations.js';
import { signNothing, type Sign } from './service.js';
import { feeToken, specs } from './world.js';

/** Where operations are mined: the model, or a real chain beside it. */
export type Ground = {
  /** The model that the rules are checked against. */
  readonly model: ModelChain;
  /** The chain that the service reads. */
  readonly port: Chain;
  readonly sign: Sign;
  /** Whether accounts can execute something else than their callData. */
  readonly hasFickleAccounts: boolean;
  /** Whether empty blocks are so cheap that a run can end by letting everything expire. */
  readonly hasCheapBlocks: boolean;
  mine(action: ChainAction, time: number, nature: Nature): Promise<ActionResult>;
  mineEmpty(time: number): Promise<void>;
  /** The model's height of a block that the follower has settled; undefined where the block was removed. */
  heightOf(settled: Pick<Cursor, 'blockNumber' | 'blockHash'>): Promise<number | undefined>;
  /** Removes the blocks above this height of the model. */
  reorganise(height: number): Promise<void>;
  stop(): Promise<void>;
};

/** Only the model. */
export async function modelGround(time: number): Promise<Ground> {
  const model = new ModelChain({ chainId, contracts: specs, token: feeToken, time });
  return {
    model,
    port: model,
    sign: signNothing,
    hasFickleAccounts: true,
    hasCheapBlocks: true,
    mine: async (...action) => model.mine(...action),
    mineEmpty: async (at) => model.mineEmpty(at),
    heightOf: async ({ blockNumber, blockHash }) =>
      model.hashAt(blockNumber) === blockHash ? blockNumber : undefined,
    reorganise: async (height) => model.reorganise(height),
    stop: async () => {},
  };
}
