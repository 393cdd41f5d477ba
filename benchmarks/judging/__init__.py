"""Judging measured on generated histories whose truth the judges never see."""
