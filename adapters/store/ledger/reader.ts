import type { Dialect } from './dialect.js';
import type { Row } from './record-rows.js';

/** Questions to one snapshot of the tables. */
export type Reader = {
  readonly dialect: Dialect;
  query(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
};
