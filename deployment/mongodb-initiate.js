// For mongosh: makes a replica set of the members that MEMBERS names, host:port with commas, and waits for its primary.
// Where there is one already, nothing is changed.
const members = process.env.MEMBERS.split(',').map((host, _id) => ({ _id, host }));

try {
  rs.status();
} catch (error) {
  if (error.codeName !== 'NotYetInitialized') throw error;
  rs.initiate({ _id: 'rs0', members });
}
for (let tries = 0; !rs.status().members.some(({ stateStr }) => stateStr === 'PRIMARY'); tries += 1) {
  if (tries === 120) throw new Error('the replica set has no primary after a minute');
  sleep(500);
}
