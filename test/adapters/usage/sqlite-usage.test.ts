import { usageStoreConformance } from '../../conformance/usage-store.js';
import { createSqliteHarness } from './sqlite-usage.js';

usageStoreConformance('SQLite', createSqliteHarness);
