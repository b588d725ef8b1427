ALTER TABLE "location_schema" DROP COLUMN "registerer";
