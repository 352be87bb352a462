import { coins } from '../../meta/schema-parts.js';
import { choice, object, text, type Infer } from '../../schema/structural.js';

export const dataFeeKindNames = ['None', 'OpStack', 'Arbitrum', 'Bundler', 'Factor'] as const;
export type DataFeeKindName = (typeof dataFeeKindNames)[number];

/** How a chain charges for the data that its roll-up posts to layer 1, as in `ChainSpec.dataFee`. */
export const dataFee = object(
  'How a roll-up charges for the data that it posts to layer 1. Estimates, caps, quotes and token charges follow it. What is read from the chain is read every 10 seconds, never by a request; a reading that is older than 15 minutes counts for nothing.',
  {
    required: {
      kind: choice(
        'None: nothing is charged (default). OpStack: the predeploy GasPriceOracle of the OP stack, from its upgrade Fjord on; an operator fee is not in it. Arbitrum: the precompile NodeInterface. Bundler: every estimate asks spec.bundlers for preVerificationGas; caps do not follow it, so set gas.maxPreVerificationGas. Factor: our own preVerificationGas times factor.',
        dataFeeKindNames,
      ),
    },
    optional: {
      factor: text(
        'Kind Factor: how often our own preVerificationGas counts, e.g. "2.5". Divide what a bundler of the chain asks for by what pm_explainSponsorship shows without it.',
        {
          minLength: 1,
          maxLength: 11,
          pattern: '^([1-9][0-9]{0,2}|1000)([.][0-9]{1,6})?$',
          expected: 'decimal text in quotes such as "2.5": from 1 to 1000, at most 6 digits after the point',
        },
      ),
      maxFee: coins(
        'The most that the data fee of one operation counts, whatever an oracle says, in our own figure, of which the default cap on preVerificationGas is twice. In native coins, e.g. "0.002". Default "0.001".',
      ),
    },
  },
  {
    rule: "(self.kind == 'Factor') == has(self.factor)",
    message: 'must be with factor where kind is Factor, and without it elsewhere',
  },
);

export type DataFeeSpec = Infer<typeof dataFee>;

/**
 * A hundred times what an operation costs on the roll-ups of today in a busy hour. It does not float, because an oracle
 * that lies could otherwise raise every cap.
 */
export const defaultMaxDataFee = '0.001';
