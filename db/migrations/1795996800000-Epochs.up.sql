-- A state of the records never comes twice, even where the database went back in time: a backup was restored, or a
-- replica was promoted that lacked the last transactions. Such a server writes on another timeline, or has another system
-- identifier: its first change of a chain's records begins a new epoch ("since"), which every ETag and every position of
-- the stream names.
ALTER TABLE "record_state" ADD COLUMN "origin" text;

CREATE FUNCTION record_state_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    here text := (SELECT system_identifier FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8);
  BEGIN
    IF TG_OP = 'UPDATE' AND OLD.origin <> here THEN
      -- Above the old one, whatever the clock of this server says.
      NEW.since := greatest(clock_timestamp(), OLD.since + interval '1 millisecond');
    END IF;
    NEW.origin := here;
    RETURN NEW;
  END $$;
CREATE TRIGGER record_state_epoch BEFORE INSERT OR UPDATE ON "record_state"
  FOR EACH ROW EXECUTE FUNCTION record_state_epoch();
