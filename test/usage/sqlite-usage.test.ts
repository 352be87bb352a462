import { usageEpochConformance } from '../conformance/usage-epoch.js';
import { usageStoreConformance } from '../conformance/usage-store.js';
import { createSqliteEpochHarness, createSqliteHarness } from './sqlite-usage.js';

usageStoreConformance('SQLite', createSqliteHarness);
usageEpochConformance('SQLite', createSqliteEpochHarness);
