import type { Logger } from '../core/log.js';
import type { Connection } from './connection.js';
import type { Console } from './console.js';
import { writePrivateFile, type DataDirectory } from './data-directory.js';

/** Keeps connection.json current while the instance runs: keys are rotated, and refused resources are corrected. */
export function createConnectionFile(deps: {
  readonly describe: () => Promise<Connection>;
  readonly directory: Pick<DataDirectory, 'connectionFile'>;
  readonly console: Pick<Console, 'line'>;
  readonly log: Logger;
}) {
  const { connectionFile } = deps.directory;
  let written = '';
  let running: Promise<void> | undefined;
  let isAsked = false;

  async function write(): Promise<{ readonly connection: Connection; readonly isChanged: boolean }> {
    const connection = await deps.describe();
    const text = `${JSON.stringify(connection, null, 2)}\n`;
    const isChanged = text !== written;
    if (isChanged) writePrivateFile(connectionFile, text);
    written = text;
    return { connection, isChanged };
  }

  async function refresh(): Promise<void> {
    while (isAsked) {
      isAsked = false;
      try {
        if ((await write()).isChanged) deps.console.line(`connection facts have changed: ${connectionFile}`);
      } catch (error) {
        // Stores close during a write while the instance stops; if the disk is full, everything else reports it too.
        deps.log.warn('connection facts not written', { error });
      }
    }
    running = undefined;
  }

  return {
    write: async (): Promise<Connection> => (await write()).connection,
    /** Writes the file again if something in it has changed, and says so; runs one write at a time. Never throws. */
    refresh(): void {
      isAsked = true;
      running ??= refresh();
    },
  };
}
