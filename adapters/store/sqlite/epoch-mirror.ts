import { DomainError } from '../../../core/errors.js';
import {
  isSameEpoch,
  raiseEpoch,
  unreachableSequence,
  type EpochCopies,
  type EpochMirror,
  type UsageEpoch,
} from '../../../core/usage/epoch.js';
import { formatEpoch, parseEpoch } from '../epoch-text.js';
import type { Database } from '../../sqlite/database.js';
import { migrate } from '../../sqlite/migrate.js';

/**
 * Copies of epochs in the database of the resources, which is a different file from that of the usage. If both files
 * are restored together, the loss is not noticed.
 */
type SqliteEpochMirror = EpochMirror &
  EpochCopies & {
    /** Called after each copy is written: what {@link EpochCopies} holds of a loss may have changed. */
    onChange(handler: () => void): void;
    /** Deletes the copy of a chain that was started anew: promises made on the former chain bind nobody. */
    forget(chainId: number): void;
    /**
     * Makes the data beside the copies count as lost, wherever and whenever they are opened: for a backup. Nobody will know
     * which promises were made after it, so the wait is at least the longest that a promise may live, by chain.
     */
    distrust(maxExpiryMs: (chainId: number) => number): void;
  };

const schema = `
  CREATE TABLE usage_epochs (chain_id INTEGER PRIMARY KEY, epoch TEXT NOT NULL) STRICT;
`;

export function createSqliteEpochMirror({ db }: { readonly db: Database }): SqliteEpochMirror {
  migrate(db, 'usage-epochs', [schema]);
  const select = db.sql.prepare('SELECT epoch FROM usage_epochs WHERE chain_id = ?');
  const selectChains = db.sql.prepare('SELECT chain_id FROM usage_epochs');
  const write = db.sql.prepare(
    'INSERT INTO usage_epochs VALUES (?, ?) ON CONFLICT (chain_id) DO UPDATE SET epoch = excluded.epoch',
  );
  const remove = db.sql.prepare('DELETE FROM usage_epochs WHERE chain_id = ?');

  function read(chainId: number): UsageEpoch | undefined {
    const row = select.get(chainId);
    if (row === undefined) return undefined;
    try {
      return parseEpoch(String(row['epoch']));
    } catch (cause) {
      throw new DomainError('UNAVAILABLE', `the epoch of chain ${chainId} in ${db.path} cannot be read`, {
        reason: 'USAGE_STORE_DOWN',
        cause,
      });
    }
  }

  const handlers = new Set<() => void>();
  return {
    onChange: (handler) => void handlers.add(handler),
    get: async (chainId) => db.run(() => read(chainId)),
    put: async (chainId, next, expected) => {
      const isPut = db.transaction(() => {
        if (!isSameEpoch(read(chainId), expected)) return false;
        write.run(chainId, formatEpoch(next));
        return true;
      });
      if (isPut) for (const handler of handlers) handler();
      return isPut;
    },
    raise: async (marks) =>
      db.transaction(() => {
        const copies = new Map<number, UsageEpoch>();
        for (const [chainId, mark] of marks) {
          const copy = read(chainId);
          if (copy === undefined) continue;
          const next = raiseEpoch(copy, mark);
          if (next !== copy) write.run(chainId, formatEpoch(next));
          copies.set(chainId, next);
        }
        return copies;
      }),
    all: async () =>
      db.run(() => {
        const epochs = new Map<number, UsageEpoch>();
        for (const { chain_id } of selectChains.all()) {
          const epoch = read(Number(chain_id));
          if (epoch !== undefined) epochs.set(Number(chain_id), epoch);
        }
        return epochs;
      }),
    forget: (chainId) => db.run(() => void remove.run(chainId)),
    distrust: (maxExpiryMs) =>
      db.transaction(() => {
        for (const { chain_id } of selectChains.all()) {
          const chainId = Number(chain_id);
          const copy = read(chainId);
          if (copy === undefined) continue;
          // A loss that was noted before ends at another time than the one that begins with this copy.
          const { lostAt: _, ...epoch } = copy;
          const longestExpiryMs = Math.max(copy.longestExpiryMs, maxExpiryMs(chainId));
          write.run(chainId, formatEpoch({ ...epoch, longestExpiryMs, sequence: unreachableSequence }));
        }
      }),
  };
}
