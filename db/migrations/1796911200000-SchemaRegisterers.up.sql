-- Places among the schemas that are read go by use and by account, not by arrival: 1,000 registrations of one account closed
-- a chain's discovery. Null: registered before this migration, by an account that was not noted.
ALTER TABLE "location_schema" ADD COLUMN "registerer" text;
