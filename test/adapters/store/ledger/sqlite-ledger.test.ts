import { ledgerConformance } from '../../../conformance/ledger.js';
import { openSqliteLedger } from './written.js';

ledgerConformance('SQLite', () => openSqliteLedger());
