import { heldMs, type ReplayRegister } from '../../../core/ledger/replay-register.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { Row, Session, Transaction } from '../../postgres/transactions.js';

type Run = <T>(mode: Transaction['mode'], work: (session: Session) => Promise<T>) => Promise<T>;

/** A row per organisation. Times are those of the database, so clocks of processes do not matter. */
export function createReplayTable(run: Run): ReplayRegister {
  const write = async (text: string, values: readonly unknown[]): Promise<Row | undefined> =>
    (await run('write', (session) => session.query(text, values)))[0];
  const find: ReplayRegister['find'] = async (organisation) => {
    const [row] = await run('read', (session) => session.query(findText, [organisation]));
    if (row === undefined) return undefined;
    const { id, status, is_running: isRunning, is_held: isHeld, reported_ms: reportedMs } = row;
    return {
      id: String(id),
      status: String(status),
      state: isRunning !== true ? 'ended' : isHeld === true ? 'running' : 'abandoned',
      reportedAt: Number(reportedMs) as EpochMs,
    };
  };
  return {
    find,
    async begin(organisation, id, status) {
      const begun = await write(beginText, [organisation, id, status]);
      return begun === undefined ? (await find(organisation))?.id : undefined;
    },
    async report(organisation, id, status, isRunning) {
      const row = await write(reportText, [organisation, id, status, isRunning]);
      if (row === undefined) return 'lost';
      return row['is_cancelled'] === true ? 'cancel' : 'held';
    },
    cancel: async (organisation, id) => void (await write(cancelText, [organisation, id])),
  };
}

/** Of processes that are gone, and of organisations that are deleted. */
export async function pruneReplays(run: Run, before: EpochMs): Promise<void> {
  await run('write', (session) =>
    session.query(
      'DELETE FROM ledger.replays WHERE reported_at < to_timestamp($1::double precision / 1000)',
      [before],
    ),
  );
}

const isHeld = `replays.reported_at > now() - interval '${heldMs} milliseconds'`;

const findText = `
  SELECT id, status, is_running, ${isHeld} AS is_held, floor(extract(epoch FROM reported_at) * 1000) AS reported_ms
  FROM ledger.replays WHERE organisation = $1`;

const beginText = `
  INSERT INTO ledger.replays (organisation, id, status, is_running, is_cancelled, reported_at)
  VALUES ($1, $2, $3, true, false, now())
  ON CONFLICT (organisation) DO UPDATE
    SET id = EXCLUDED.id, status = EXCLUDED.status, is_running = true, is_cancelled = false, reported_at = now()
    WHERE NOT (replays.is_running AND ${isHeld})
  RETURNING id`;

const reportText = `
  UPDATE ledger.replays SET status = $3, is_running = $4, reported_at = now()
  WHERE organisation = $1 AND id = $2 AND is_running AND ${isHeld}
  RETURNING is_cancelled`;

const cancelText = `
  UPDATE ledger.replays SET is_cancelled = true WHERE organisation = $1 AND id = $2 AND is_running`;
