import type { Logger } from '../core/log.js';
import type { Connection } from './connection.js';
import type { Console } from './console.js';
import { writePrivateFile, type DataDirectory } from './data-directory.js';

/** connection.json, as long as the instance runs: keys are rotated, and what was refused at the start is put right. */
export type ConnectionFile = {
  write(): Promise<Connection>;
  /** Writes it again where something in it has changed, and says so; one after the other. Never throws. */
  refresh(): void;
};

export function createConnectionFile(deps: {
  readonly describe: () => Promise<Connection>;
  readonly directory: Pick<DataDirectory, 'connectionFile'>;
  readonly console: Pick<Console, 'line'>;
  readonly log: Logger;
}): ConnectionFile {
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
        // Stores are closed under it while the instance stops; a directory that is full is told by everything else too.
        deps.log.warn('connection facts not written', { error });
      }
    }
    running = undefined;
  }

  return {
    write: async () => (await write()).connection,
    refresh() {
      isAsked = true;
      running ??= refresh();
    },
  };
}
