import { addressKeyAt, type AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { ChargeLog, TokenCharge, TokenCodec } from './layout.js';

/** One event in which a contract reports the charge of an operation: where its values are among topics and data. */
type ChargeEventShape = {
  readonly topic0: Hex;
  readonly token: Place;
  readonly amount: Place;
  readonly userOpHash: Place;
  /** 0 where the operation was sponsored. Absent: the contract reports token payments alone. */
  readonly mode?: Place;
};

/** Either a topic by its index (0 is the event itself), or a word of the data by its index. */
type Place = { readonly topic: number } | { readonly word: number };

/**
 * keccak256("PaidGasInTokens(address,address,uint256,uint256,uint32,uint256,bytes32)"): sender and token indexed; gas
 * cost, token charge, markup, rate, userOpHash. Emitted by the vendor's 2.x contract and by the contracts in
 * `contracts/`.
 */
export const paidGasInTokens: ChargeEventShape = {
  topic0: '0x9b02391759649674b016374b782fbd862605050c75d26c3e4c0b385e75bc1c48',
  token: { topic: 2 },
  amount: { word: 1 },
  userOpHash: { word: 4 },
};

/**
 * keccak256("TokensOwed(address,address,uint256,uint256,bytes32)"): sender and token indexed; owed, due, userOpHash. Emitted by the
 * contracts in `contracts/` when less arrives than is due.
 */
export const tokensOwedTopic: Hex = '0x3bd3f007842febf4951d0b738ebd065513a04d296a50e359250484deb1a7f23f';

/** Of `due` base units an operation has left `owed` unpaid. */
export type TokensOwed = { readonly owed: bigint; readonly due: bigint };

/** What the contract says that the operation owes, among the logs of its transaction; undefined when it says nothing. */
export function findTokensOwed(
  logs: readonly ChargeLog[],
  { paymaster, userOpHash }: Parameters<TokenCodec['chargeOf']>[1],
): TokensOwed | undefined {
  const log = logs.find(
    (one) =>
      one.address.toLowerCase() === paymaster &&
      one.topics[0]?.toLowerCase() === tokensOwedTopic &&
      wordIn(one, { word: 2 }) === userOpHash.toLowerCase(),
  );
  return log && { owed: BigInt(wordIn(log, { word: 0 })), due: BigInt(wordIn(log, { word: 1 })) };
}

/** The fields of a codec that read mode and charge from the contract's events. */
export function chargeReader(
  shapes: readonly ChargeEventShape[],
): Pick<TokenCodec, 'chargeTopics' | 'chargeOf' | 'modeOf'> {
  const reports: Reports = (logs, { paymaster, userOpHash }) =>
    logs.flatMap((log) => {
      if (log.address.toLowerCase() !== paymaster) return [];
      const shape = shapes.find(({ topic0 }) => topic0 === log.topics[0]?.toLowerCase());
      const isIts = shape !== undefined && wordIn(log, shape.userOpHash) === userOpHash.toLowerCase();
      return isIts ? [{ log, shape }] : [];
    });
  return {
    chargeTopics: shapes.map(({ topic0 }) => topic0),
    chargeOf: (logs, operation) =>
      reports(logs, operation)
        .map(({ log, shape }) => read(log, shape))
        .find(({ amount }) => amount > 0n),
    modeOf: (logs, operation) => {
      const [report] = reports(logs, operation);
      if (report === undefined) return undefined;
      const { log, shape } = report;
      const isSponsored = shape.mode !== undefined && BigInt(wordIn(log, shape.mode)) === 0n;
      return isSponsored ? 'SPONSORED' : 'ERC20';
    },
  };
}

type Reports = (
  ...asked: Parameters<TokenCodec['chargeOf']>
) => readonly { readonly log: ChargeLog; readonly shape: ChargeEventShape }[];

function read(log: ChargeLog, shape: ChargeEventShape): TokenCharge {
  return { token: addressIn(log, shape.token), amount: BigInt(wordIn(log, shape.amount)) };
}

function addressIn(log: ChargeLog, place: Place): AddressKey {
  return addressKeyAt(wordIn(log, place), 12);
}

/** Lowercase. A log without that word belongs to another event with the same topic; its words count as zero. */
function wordIn({ topics, data }: ChargeLog, place: Place): Hex {
  const text =
    'topic' in place
      ? (topics[place.topic] ?? '0x').slice(2)
      : data.slice(2 + 64 * place.word, 66 + 64 * place.word);
  return `0x${text.toLowerCase().padStart(64, '0')}`;
}
