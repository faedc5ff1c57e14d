import { operatorText } from '../config/operator-errors.js';
import { handleLostOutput } from './client/output/reader.js';
import { program } from './program.js';

handleLostOutput();
try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${operatorText(error)}\n`);
  process.exit(1);
}
