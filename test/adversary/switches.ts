import { createMemoryEpochMirror } from '../../core/usage/epoch.js';
import { pass } from '../../core/refusal.js';
import type { Hex } from '../../core/units/hex.js';
import { gwei } from '../../core/units/wei.js';
import { profileSignerFiles, unknownProfile } from '../../operator/facts/facts.js';
import { openInFile, type OpenStores } from './stores.js';
import type { Switches } from './scene.js';
import { asked, bound, boundChain, remembering, stepped } from './turned-off.js';

/** A rule that is turned off, as a defect would do it. Exists in tests only: it wraps the dependencies of replicas or follower. */
export type Defect = Switches & {
  readonly name: string;
  /** Rules whose violation reveals the defect. */
  readonly rules: readonly number[];
  readonly open?: OpenStores;
};

export const defects: readonly Defect[] = [
  {
    name: 'limits reserve next to nothing, whatever an operation may cost',
    rules: [1, 6],
    usage: asked((request) => ({
      ...request,
      limits: request.limits.map((limit) => ({ ...limit, cost: 1 })),
    })),
  },
  {
    name: 'limits count and refuse nothing',
    rules: [1],
    usage: asked((request) => ({
      ...request,
      limits: request.limits.map((limit) => ({ ...limit, enforce: false })),
    })),
  },
  {
    name: 'one paymaster may hold all of a budget',
    rules: [1],
    usage: asked((request) => ({
      ...request,
      holds: request.holds.filter(({ counter }) => !counter.startsWith('budget/')),
    })),
  },
  {
    name: 'a limit in Shadow refuses',
    rules: [1],
    usage: asked((request) => ({
      ...request,
      limits: request.limits.map((limit) => ({ ...limit, enforce: true })),
    })),
  },
  {
    name: 'a promise holds what its coin cost yesterday',
    rules: [1, 6],
    usage: asked((request) => ({
      ...request,
      limits: request.limits.map((limit) =>
        limit.unit === 'USD' ? { ...limit, cost: Math.floor(limit.cost / 2), rate: limit.rate! / 2n } : limit,
      ),
    })),
  },
  {
    name: 'a settled operation counts half of its cost',
    rules: [1, 6],
    usage: stepped((step) => ({
      ...step,
      settled: step.settled.map(({ key, actualCost }) => ({
        key,
        actualCost: actualCost === undefined ? undefined : gwei(Math.floor(actualCost / 2)),
      })),
    })),
  },
  {
    name: 'deposits are not looked at',
    rules: [2, 17],
    usage: asked((request) => ({
      ...request,
      accounts: request.accounts.map((account) => ({ ...account, need: gwei(0) })),
    })),
  },
  {
    name: 'an organisation may take all of a pooled account',
    rules: [2],
    usage: asked((request) => ({
      ...request,
      holds: request.holds.filter(({ counter }) => !counter.startsWith('share:')),
    })),
  },
  {
    name: 'token promises take nothing of the loss budget',
    rules: [3],
    usage: asked((request) => ({
      ...request,
      holds: request.holds.filter(({ counter }) => !counter.startsWith('token-exposure:')),
    })),
  },
  {
    name: 'what a payment in advance leaves open takes nothing of the loss budget',
    rules: [3],
    usage: asked((request) => ({
      ...request,
      holds: request.holds.filter(
        ({ counter, cost }) => !counter.startsWith('token-exposure:') || cost >= request.accounts[0]!.need,
      ),
    })),
  },
  {
    name: 'one account may take all of the loss budget',
    rules: [3],
    usage: asked((request) => ({
      ...request,
      holds: request.holds.filter(({ counter }) => !/^token-exposure:.*\/sender\//.test(counter)),
    })),
  },
  {
    name: 'losses of the day are forgotten',
    rules: [3, 6],
    usage: stepped((step) => ({
      ...step,
      charges: step.charges.filter(({ counter }) => !counter.startsWith('token-loss:')),
    })),
  },
  {
    name: 'only the newest signature of a nonce is remembered',
    rules: [6],
    usage: remembering((reservation) => ({
      ...reservation,
      promises: reservation.promises.slice(0, 1),
      folded: [],
    })),
  },
  {
    name: 'an operation whose signature is not the only one settles as the newest one',
    rules: [1, 3, 6],
    usage: remembering(({ promises: [newest, ...others], ...reservation }) => ({
      ...reservation,
      // Takes each of the others for the newest, as when a mined operation is not read.
      promises: newest === undefined ? [] : [newest, ...others.map(({ digest }) => ({ ...newest, digest }))],
    })),
  },
  {
    name: 'a reservation ends while its signature is valid',
    rules: [1, 2, 3, 6],
    usage: (store) => ({
      ...bound(store),
      reservations: (chainId, query) =>
        store.reservations(
          chainId,
          query === undefined ? query : { ...query, expiredBefore: (query.expiredBefore + 400) as never },
        ),
    }),
  },
  {
    name: 'one empty answer about logs ends a reservation whose operation was mined',
    rules: [1, 2, 3, 6],
    // Every nonce seems unused.
    chain: (chain) => ({
      ...boundChain(chain),
      words: async (calls, block) => {
        const words = await chain.words(calls, block);
        return words.map((word, i) =>
          calls[i]!.data.startsWith('0x35567e1a') ? (word! >> 64n) << 64n : word,
        );
      },
    }),
  },
  {
    name: 'an operation that nobody has promised stops nothing',
    rules: [6],
    usage: (store) => ({
      ...bound(store),
      setSuspended: async (chainId, id, isSuspended) => {
        if (!isSuspended) await store.setSuspended(chainId, id, isSuspended);
      },
    }),
  },
  {
    name: 'what is settled in blocks that a reorganisation removes stays settled',
    rules: [1, 2, 3, 6],
    usage: stepped((step) => (step.restored.length === 0 ? step : { ...step, restored: [], charges: [] })),
  },
  {
    name: 'what is restored after a reorganisation keeps what it was counted as',
    rules: [1, 3, 6],
    usage: stepped((step) => (step.restored.length === 0 ? step : { ...step, charges: [] })),
  },
  {
    name: 'a config that is known to be old is served',
    rules: [12],
    usage: asked((request) => ({
      ...request,
      fences: request.fences.filter(({ id }) => id.startsWith('contract:')),
    })),
  },
  {
    name: 'a paymaster that is made again is a new one',
    rules: [14],
    forgetsNames: true,
  },
  {
    name: 'the key in front signs, whether the contract accepts it or not',
    rules: [15],
    keyFacts: (facts) => ({
      ...facts,
      profile: (id, profile) => {
        const found = facts.profile(id, profile);
        return {
          ...found,
          signers: Object.fromEntries(profileSignerFiles(profile).map((file) => [file, 'Authorized'])),
        };
      },
    }),
  },
  {
    name: 'the key of before signs on when the contract has let go of it',
    rules: [15],
    keyFacts: (facts) => ({ ...facts, profile: () => unknownProfile }),
  },
  {
    name: 'a contract that accepts no key is signed for',
    rules: [15],
    keyFacts: (facts) => ({ ...facts, usability: () => 'usable' }),
  },
  {
    name: 'a commit is finalized for any operation of its nonce',
    rules: [16],
    usage: asked(({ phase, ...request }) => ({
      ...request,
      ...(phase === undefined ? {} : { phase: { ...phase, commitment: `0x${'00'.repeat(32)}` } }),
    })),
  },
  {
    name: 'a commit is over as soon as it is made',
    rules: [16],
    usage: asked(({ phase, ...request }) => ({
      ...request,
      ...(phase === undefined ? {} : { phase: { ...phase, commitment: commitmentOf(phase.kind) } }),
    })),
  },
  {
    name: 'a finalize needs no open commit',
    rules: [16],
    usage: asked(({ phase, ...request }) => ({
      ...request,
      ...(phase?.kind === 'commit' ? { phase } : {}),
    })),
  },
  {
    name: 'a finalize reserves nothing',
    rules: [17],
    usage: (store) => ({
      ...bound(store),
      reserve: async (request) =>
        request.phase?.kind === 'finalize' ? { outcome: 'reserved' } : store.reserve(request),
    }),
  },
  {
    name: 'a commit holds what it has reserved until its operation expires',
    rules: [18],
    usage: (store) => ({ ...bound(store), dropCommits: async () => 0 }),
  },
  {
    name: 'a finalize does not look at the signature of the account',
    rules: [19],
    accounts: ({ validate }) => ({
      validate: async (request) => {
        await validate(request);
        return pass;
      },
    }),
  },
  {
    name: 'a signature that fails gives back all that its nonce has reserved',
    rules: [1, 2, 3, 17],
    onUnsigned: async (store, key) => {
      const cursor = await store.cursor(key.chainId);
      if (cursor === undefined) return;
      const nothing = { settled: [], forfeited: [], charges: [], restored: [], balances: [] };
      const { chainId } = key;
      await store.advance({ chainId, expected: cursor, next: cursor, released: [{ key }], ...nothing });
    },
  },
  {
    name: 'a signature whose answer is lost counts as never made',
    rules: [1, 2, 3, 17],
    lostAnswer: 'unsigned',
  },
  {
    name: 'logs of a block are read of all contracts',
    rules: [6, 7],
    chain: (chain) => ({
      ...boundChain(chain),
      logs: (filter) => {
        if (!('blockHash' in filter)) return chain.logs(filter);
        return chain.logs({ blockHash: filter.blockHash });
      },
    }),
  },
  {
    name: 'a backup that is put back passes for the newest data',
    rules: [11, 1, 2, 3, 6],
    // No other place knows how far the data had come.
    open: openInFile(createMemoryEpochMirror),
  },
];

/** Never that of its commit. */
function commitmentOf(phase: 'commit' | 'finalize'): Hex {
  return `0x${(phase === 'commit' ? '01' : '02').repeat(32)}`;
}
